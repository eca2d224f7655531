package operation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/indusagi/indus/schema"
)

// maxName is the maximum length of an operation's name, in bytes.
const maxName = 256

// Spec describes an operation for its callers.
//
// A Spec is a value. Data that it refers to is read-only after registration.
type Spec struct {
	// Name is unique in its registry: "read_file", or "fs/read_file" with a namespace (see [Join]). It is printable
	// text of at most 256 bytes.
	Name string `json:"name"`
	// Namespace is the group of the operation, even if the name does not contain it. It may be empty.
	Namespace string `json:"namespace,omitempty"`
	// Description explains the purpose to people and models. It may be empty.
	Description string `json:"description,omitempty"`
	// Kind is [Mutation] by default.
	Kind Kind `json:"kind"`
	// Visibility is [Internal] by default.
	Visibility Visibility `json:"visibility"`
	// Input is the JSON Schema of the input. If it is nil, any JSON value is valid.
	Input json.RawMessage `json:"input,omitempty"`
	// Output is the JSON Schema of the value. If it is nil, any JSON value is valid.
	Output json.RawMessage `json:"output,omitempty"`
	// Errors are the errors of the operation, in addition to the codes of this package.
	Errors []ErrorDefinition `json:"errors,omitempty"`
	// Access lists the rights that a caller needs. The zero value allows every caller.
	Access Access `json:"access,omitzero"`
}

// ErrorDefinition declares one error of an operation.
type ErrorDefinition struct {
	// Code is unique in the operation, and none of this package's codes: "FILE_NOT_FOUND".
	Code Code `json:"code"`
	// Description explains when the error occurs. It may be empty.
	Description string `json:"description,omitempty"`
	// Schema is the JSON Schema of the details. If it is nil, any details are valid.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Retryable means that a retry is useful, even if the handler's error does not state it.
	Retryable bool `json:"retryable,omitempty"`
}

// Join returns the name of an operation with its namespace: "fs/read_file". Without a namespace it returns the name.
func Join(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// Check returns the error for which [Registry.Add] would refuse the Spec. It does not compile the schemas.
func (s Spec) Check() error {
	if err := checkName(s.Name); err != nil {
		return err
	}
	wrap := func(err error) error { return fmt.Errorf("operation: %q: %w", s.Name, err) }
	if s.Kind > Query {
		return wrap(fmt.Errorf("there is no kind %d", s.Kind))
	}
	if s.Visibility > External {
		return wrap(fmt.Errorf("there is no visibility %d", s.Visibility))
	}
	if err := checkSchema(s.Input); err != nil {
		return wrap(fmt.Errorf("input schema: %w", err))
	}
	if err := checkSchema(s.Output); err != nil {
		return wrap(fmt.Errorf("output schema: %w", err))
	}
	for i, d := range s.Errors {
		if err := d.check(s.Errors[:i]); err != nil {
			return wrap(err)
		}
	}
	return nil
}

func (d ErrorDefinition) check(earlier []ErrorDefinition) error {
	switch {
	case strings.TrimSpace(string(d.Code)) == "":
		return errors.New("an error is declared without a code")
	case slices.Contains(protocolCodes, d.Code):
		return fmt.Errorf("error %s is declared, which is one of the protocol's", d.Code)
	case slices.ContainsFunc(earlier, func(other ErrorDefinition) bool { return other.Code == d.Code }):
		return fmt.Errorf("error %s is declared twice", d.Code)
	}
	if err := checkSchema(d.Schema); err != nil {
		return fmt.Errorf("schema of error %s: %w", d.Code, err)
	}
	return nil
}

func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("operation: an operation needs a name")
	case len(name) > maxName:
		return fmt.Errorf("operation: the name %q has %d bytes, over %d", name[:40]+"…", len(name), maxName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("operation: the name %q is not printable text", name)
	case name[0] == '/' || name[len(name)-1] == '/' || name[0] == ' ' || name[len(name)-1] == ' ':
		return fmt.Errorf("operation: the name %q begins or ends with a slash or a space", name)
	}
	return nil
}

// checkSchema checks the form and the size of a schema, which is cheap.
func checkSchema(raw json.RawMessage) error {
	if raw == nil {
		return nil
	}
	if err := schema.Measure(raw, schema.Limits{}); err != nil {
		return err
	}
	switch trimmed := bytes.TrimLeft(raw, " \t\r\n"); trimmed[0] {
	case '{', 't', 'f':
		return nil
	}
	return errors.New("a schema is an object, true or false")
}

// definition returns the definition of a code, or nil if there is none.
func (s *Spec) definition(code Code) *ErrorDefinition {
	for i := range s.Errors {
		if s.Errors[i].Code == code {
			return &s.Errors[i]
		}
	}
	return nil
}

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
