// Package infer makes JSON Schemas of Go types, for tools and operations with structs as input and output.
//
// The properties are the fields as encoding/json names them, in their order. A field is required unless its tag has
// omitempty or omitzero. In an input, a field with a default is optional too. An integer has the bounds of its type: a
// uint8 is 0 to 255. Struct tags set everything else:
//
//	type Input struct {
//		City  string `json:"city" jsonschema_description:"Where, as people call it."`
//		Unit  string `json:"unit,omitempty" jsonschema:"enum=celsius,enum=fahrenheit,default=celsius"`
//		Hours int    `json:"hours,omitempty" jsonschema:"minimum=1,maximum=48"`
//	}
//
// [github.com/invopop/jsonschema] documents all tags. An object accepts only its own properties. This package keeps no
// state, and all functions are safe for concurrent use.
package infer

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/invopop/jsonschema"
)

var rawMessage = reflect.TypeFor[json.RawMessage]()

// Input returns the JSON Schema (2020-12) of the values that decode into a T. It returns nil for types that accept any
// value: an interface, json.RawMessage, and a type with its own JSON encoding. The error names the type that JSON
// cannot hold.
func Input[T any]() (json.RawMessage, error) { return inferType(reflect.TypeFor[T](), false) }

// Output returns the schema of the JSON encoding of a T. It is the schema of Input, and also accepts null where a nil
// slice, map or pointer in a struct is encoded as null. It returns nil for recursive types too.
func Output[T any]() (json.RawMessage, error) { return inferType(reflect.TypeFor[T](), true) }

func inferType(t reflect.Type, output bool) (json.RawMessage, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if isRecursive(t, true) {
		return nil, fmt.Errorf("%s embeds itself", t)
	}
	loops := isRecursive(t, false)
	if s := specialSchema(t); s != nil && s.Type == "" || t == rawMessage || t.Kind() == reflect.Interface ||
		output && loops {
		return nil, nil
	}
	schema, err := describeType(t, output, loops)
	if err != nil {
		return nil, err
	}
	return json.Marshal(schema)
}

// Object is like Input, but requires that the values are objects, as the arguments of a tool are. For a type that
// accepts any value, it returns a schema of any object.
func Object[T any]() (json.RawMessage, error) {
	s, err := Input[T]()
	switch {
	case err != nil:
		return nil, err
	case s == nil:
		return json.RawMessage(`{"type":"object"}`), nil
	case !IsObject(s):
		return nil, fmt.Errorf("%s is no struct and no map, and its values no objects", reflect.TypeFor[T]())
	}
	return s, nil
}

// IsObject reports whether a schema of this package accepts objects only.
func IsObject(s json.RawMessage) bool {
	var root struct{ Type string }
	return json.Unmarshal(s, &root) == nil && root.Type == "object"
}

// describeType returns the schema of t before encoding.
func describeType(t reflect.Type, output, loops bool) (schema *jsonschema.Schema, err error) {
	defer func() { // the library panics at channels and functions
		if v := recover(); v != nil {
			err = fmt.Errorf("%s: %v", t, v)
		}
	}()
	// A recursive type needs references. Any other type is written without them, for models and providers that follow
	// none.
	r := &jsonschema.Reflector{Anonymous: true, Mapper: specialSchema}
	if !loops {
		r.DoNotReference, r.ExpandedStruct = true, t.Kind() == reflect.Struct
	}
	schema = r.ReflectFromType(t)
	if schema == nil {
		return nil, errors.New(t.String() + " has no schema")
	}
	schema.Version = ""
	adjust(schema, t, output)
	if schema.Ref != "" && t.Kind() == reflect.Struct {
		schema.Type = "object" // MCP requires it at the root
	}
	return schema, nil
}

// isRecursive reports whether t contains itself, directly or through another type. If embedded is set, only embedded
// fields count: the library would follow such a type until the stack overflows.
func isRecursive(t reflect.Type, embedded bool, path ...reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer:
		return isRecursive(t.Elem(), embedded, path...)
	case reflect.Slice, reflect.Array, reflect.Map:
		return !embedded && isRecursive(t.Elem(), embedded, path...)
	case reflect.Struct:
		if slices.Contains(path, t) {
			return true
		}
		path = append(path[:len(path):len(path)], t)
		for f := range t.Fields() {
			counts := f.Tag.Get("json") != "-"
			if embedded {
				counts = f.Anonymous
			}
			if counts && isRecursive(f.Type, embedded, path...) {
				return true
			}
		}
	}
	return false
}

// specialSchema returns the schema of a type that encoding/json does not encode by its kind, or nil for other types. A
// type with its own JSON encoding may be any value.
func specialSchema(t reflect.Type) *jsonschema.Schema {
	p := reflect.PointerTo(t)
	switch {
	case t == reflect.TypeFor[time.Time](), t == rawMessage, t.Kind() == reflect.Interface,
		p.Implements(reflect.TypeFor[interface{ JSONSchema() *jsonschema.Schema }]()):
		return nil
	case t == reflect.TypeFor[json.Number]():
		return &jsonschema.Schema{Type: "number"}
	case t == reflect.TypeFor[url.URL](), p.Implements(reflect.TypeFor[json.Marshaler]()):
		return &jsonschema.Schema{}
	case p.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return &jsonschema.Schema{Type: "string"}
	case t.Kind() >= reflect.Int8 && t.Kind() <= reflect.Int32:
		limit := int64(1) << (t.Bits() - 1)
		return &jsonschema.Schema{Type: "integer", Minimum: jsonInt(-limit), Maximum: jsonInt(limit - 1)}
	case t.Kind() >= reflect.Uint8 && t.Kind() <= reflect.Uint32:
		return &jsonschema.Schema{Type: "integer", Minimum: jsonInt(0), Maximum: jsonInt(1<<t.Bits() - 1)}
	case t.Kind() == reflect.Uint, t.Kind() == reflect.Uint64, t.Kind() == reflect.Uintptr:
		return &jsonschema.Schema{Type: "integer", Minimum: jsonInt(0)}
	case t.Kind() == reflect.Map && (t.Key().Kind() != reflect.String ||
		t.Key().Implements(reflect.TypeFor[encoding.TextMarshaler]())):
		return &jsonschema.Schema{Type: "object"}
	}
	return nil
}

func jsonInt(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }

// adjust changes s to match the way encoding/json reads and writes the struct t. Fields of an embedded pointer become
// optional, and an output accepts null where null is written.
func adjust(s *jsonschema.Schema, t reflect.Type, output bool) {
	switch t.Kind() {
	case reflect.Pointer:
		adjust(s, t.Elem(), output)
	case reflect.Slice, reflect.Array:
		s.Items = allowNull(s.Items, t.Elem(), output)
	case reflect.Map:
		s.AdditionalProperties = allowNull(s.AdditionalProperties, t.Elem(), output)
	case reflect.Struct:
		if s.Properties == nil {
			return // the type encodes itself, as time.Time does
		}
		for _, f := range reflect.VisibleFields(t) {
			name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" {
				name = f.Name
			}
			p, ok := s.Properties.Get(name)
			if !ok {
				continue
			}
			for i := 1; i < len(f.Index); i++ {
				if t.FieldByIndex(f.Index[:i]).Type.Kind() == reflect.Pointer {
					s.Required = slices.DeleteFunc(s.Required, func(r string) bool { return r == name })
				}
			}
			if p.Default != nil && !output {
				s.Required = slices.DeleteFunc(s.Required, func(r string) bool { return r == name })
			}
			if strings.Contains(opts, "omit") {
				adjust(p, f.Type, output)
			} else {
				s.Properties.Set(name, allowNull(p, f.Type, output))
			}
		}
	}
}

func allowNull(s *jsonschema.Schema, t reflect.Type, output bool) *jsonschema.Schema {
	if s == nil || s == jsonschema.TrueSchema || s == jsonschema.FalseSchema {
		return s
	}
	adjust(s, t, output)
	if !output || s.Type == "" && s.Ref == "" {
		return s
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Map, reflect.Pointer:
		description := s.Description
		s.Description = ""
		return &jsonschema.Schema{Description: description, AnyOf: []*jsonschema.Schema{s, {Type: "null"}}}
	}
	return s
}
