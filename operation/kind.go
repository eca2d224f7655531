package operation

import "fmt"

// Kind states whether an operation changes anything.
type Kind uint8

// The kinds. The zero value is the cautious one.
const (
	Mutation Kind = iota // may change something
	Query                // only reads, and may be retried
)

// Visibility states from where an operation can be called.
type Visibility uint8

// The visibilities. The zero value is not visible from outside.
const (
	Internal Visibility = iota // only other operations can call it
	External                   // callers from outside can call it too
)

var (
	kindNames       = [...]string{Mutation: "mutation", Query: "query"}
	visibilityNames = [...]string{Internal: "internal", External: "external"}
)

// String returns "mutation" or "query".
func (k Kind) String() string { return enumText(kindNames[:], int(k), "kind") }

// MarshalText returns [Kind.String].
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// String returns "internal" or "external".
func (v Visibility) String() string { return enumText(visibilityNames[:], int(v), "visibility") }

// MarshalText returns [Visibility.String].
func (v Visibility) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

func enumText(words []string, i int, kind string) string {
	if i < len(words) {
		return words[i]
	}
	return fmt.Sprintf("%s(%d)", kind, i)
}
