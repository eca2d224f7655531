package operation

import "fmt"

// Kind says what calling an operation does.
type Kind uint8

// The kinds. The zero value is the one to be careful with.
const (
	Mutation Kind = iota // it may change something
	Query                // it only reads, and may be tried again
)

// Visibility says from where an operation can be called.
type Visibility uint8

// The visibilities. The zero value shows nothing to nobody.
const (
	Internal Visibility = iota // by other operations alone
	External                   // from outside too
)

var (
	kindNames       = [...]string{Mutation: "mutation", Query: "query"}
	visibilityNames = [...]string{Internal: "internal", External: "external"}
)

// String is "mutation" or "query".
func (k Kind) String() string { return enumText(kindNames[:], int(k), "kind") }

// MarshalText is [Kind.String].
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// String is "internal" or "external".
func (v Visibility) String() string { return enumText(visibilityNames[:], int(v), "visibility") }

// MarshalText is [Visibility.String].
func (v Visibility) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

func enumText(words []string, i int, what string) string {
	if i < len(words) {
		return words[i]
	}
	return fmt.Sprintf("%s(%d)", what, i)
}
