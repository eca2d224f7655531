// Package infer makes JSON Schemas of Go types, for tools and operations whose input and
// output are structs.
//
// The properties are the fields as encoding/json names them, in their order. A field is
// required unless it says omitempty or omitzero, or in an input has a default. An integer is
// bounded as its type is: a uint8 is 0 to 255. Struct tags say the rest:
//
//	type Input struct {
//		City  string `json:"city" jsonschema_description:"Where, as people call it."`
//		Unit  string `json:"unit,omitempty" jsonschema:"enum=celsius,enum=fahrenheit,default=celsius"`
//		Hours int    `json:"hours,omitempty" jsonschema:"minimum=1,maximum=48"`
//	}
//
// [github.com/invopop/jsonschema] documents them all. An object takes no properties but
// its own. Nothing here keeps state; everything is safe for concurrent use.
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

var raw = reflect.TypeFor[json.RawMessage]()

// Input is the JSON Schema (2020-12) of what is decoded into a T. It is nil for an interface,
// for json.RawMessage and for a type that reads and writes itself, which take any value. The error says which type JSON cannot hold.
func Input[T any]() (json.RawMessage, error) { return inferred(reflect.TypeFor[T](), false) }

// Output is the schema of what a T is encoded as: Input's, with null where a nil slice, map or
// pointer in a struct becomes one. It is nil, too, for a type that holds itself.
func Output[T any]() (json.RawMessage, error) { return inferred(reflect.TypeFor[T](), true) }

func inferred(t reflect.Type, output bool) (json.RawMessage, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if embedsItself(t, nil) {
		return nil, fmt.Errorf("%s embeds itself", t)
	}
	loops := recursive(t, nil)
	if s := encoded(t); s != nil && s.Type == "" || t == raw || t.Kind() == reflect.Interface || output && loops {
		return nil, nil
	}
	made, err := describeType(t, output, loops)
	if err != nil {
		return nil, err
	}
	return json.Marshal(made)
}

// Object is Input where the values have to be objects, as the arguments of a tool are.
// What takes any value is any object here.
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

// IsObject reports whether a schema of this package is one of objects.
func IsObject(s json.RawMessage) bool {
	var root struct{ Type string }
	return json.Unmarshal(s, &root) == nil && root.Type == "object"
}

// describeType is the schema of t before it is written.
func describeType(t reflect.Type, output, loops bool) (made *jsonschema.Schema, err error) {
	defer func() { // the library panics at channels and functions
		if v := recover(); v != nil {
			err = fmt.Errorf("%s: %v", t, v)
		}
	}()
	// A type that holds itself needs references; any other is written out, for models and
	// providers that follow none.
	r := &jsonschema.Reflector{Anonymous: true, Mapper: encoded}
	if !loops {
		r.DoNotReference, r.ExpandedStruct = true, t.Kind() == reflect.Struct
	}
	made = r.ReflectFromType(t)
	if made == nil {
		return nil, errors.New(t.String() + " has no schema")
	}
	made.Version = ""
	adjust(made, t, output)
	if made.Ref != "" && t.Kind() == reflect.Struct {
		made.Type = "object" // MCP wants it at the root
	}
	return made, nil
}

// recursive reports whether t holds itself, or something in it does.
func recursive(t reflect.Type, within []reflect.Type) bool {
	for _, w := range within {
		if w == t {
			return true
		}
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return recursive(t.Elem(), within)
	case reflect.Struct:
		within = append(within[:len(within):len(within)], t)
		for i := range t.NumField() {
			if f := t.Field(i); f.Tag.Get("json") != "-" && recursive(f.Type, within) {
				return true
			}
		}
	}
	return false
}

// embedsItself reports whether t embeds itself, or something in it does: the library would follow it
// until the stack ends.
func embedsItself(t reflect.Type, within []reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return false
	}
	if slices.Contains(within, t) {
		return true
	}
	within = append(within[:len(within):len(within)], t)
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous && embedsItself(f.Type, within) {
			return true
		}
	}
	return false
}

// encoded is the schema of a type that encoding/json does not write by its kind, nil for any
// other: what writes itself as JSON may be anything.
func encoded(t reflect.Type) *jsonschema.Schema {
	p := reflect.PointerTo(t)
	switch {
	case t == reflect.TypeFor[time.Time](), t == raw, t.Kind() == reflect.Interface, p.Implements(reflect.TypeFor[interface{ JSONSchema() *jsonschema.Schema }]()):
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
	case t.Kind() == reflect.Map && (t.Key().Kind() != reflect.String || t.Key().Implements(reflect.TypeFor[encoding.TextMarshaler]())):
		return &jsonschema.Schema{Type: "object"}
	}
	return nil
}

func jsonInt(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }

// adjust makes s what encoding/json reads and writes of the struct t: what an embedded pointer
// brings may be missing, and in an output null stands where it is written.
func adjust(s *jsonschema.Schema, t reflect.Type, output bool) {
	switch t.Kind() {
	case reflect.Pointer:
		adjust(s, t.Elem(), output)
	case reflect.Slice, reflect.Array:
		s.Items = orNull(s.Items, t.Elem(), output)
	case reflect.Map:
		s.AdditionalProperties = orNull(s.AdditionalProperties, t.Elem(), output)
	case reflect.Struct:
		if s.Properties == nil {
			return // it encodes itself, as a time does
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
				s.Properties.Set(name, orNull(p, f.Type, output))
			}
		}
	}
}

func orNull(s *jsonschema.Schema, t reflect.Type, output bool) *jsonschema.Schema {
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
