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

// UnmarshalText reads what MarshalText writes.
func (k *Kind) UnmarshalText(text []byte) error {
	i, err := enumIndex(kindNames[:], string(text), "kind")
	*k = Kind(i)
	return err
}

// String is "internal" or "external".
func (v Visibility) String() string { return enumText(visibilityNames[:], int(v), "visibility") }

// MarshalText is [Visibility.String].
func (v Visibility) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (v *Visibility) UnmarshalText(text []byte) error {
	i, err := enumIndex(visibilityNames[:], string(text), "visibility")
	*v = Visibility(i)
	return err
}

func enumText(words []string, i int, what string) string {
	if i < len(words) {
		return words[i]
	}
	return fmt.Sprintf("%s(%d)", what, i)
}

func enumIndex(words []string, text, what string) (int, error) {
	for i, w := range words {
		if w == text {
			return i, nil
		}
	}
	return 0, fmt.Errorf("operation: there is no %s %q", what, text)
}
