// Package infer makes JSON Schemas of Go types, for tools and operations whose input and
// output are structs.
//
// The properties are the fields as encoding/json names them, in their order. A field is
// required unless it says omitempty or omitzero; struct tags say the rest:
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
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
)

var raw = reflect.TypeFor[json.RawMessage]()

// Input is the JSON Schema (2020-12) of what is decoded into a T. It is nil for an interface
// and for json.RawMessage, which take any value. The error says which type JSON cannot hold.
func Input[T any]() (json.RawMessage, error) { return of(reflect.TypeFor[T](), false) }

// Output is the schema of what a T is encoded as: Input's, with null where a nil slice, map or
// pointer in a struct becomes one. It is nil, too, for a type that holds itself.
func Output[T any]() (json.RawMessage, error) { return of(reflect.TypeFor[T](), true) }

func of(t reflect.Type, output bool) (json.RawMessage, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if embeds(t, nil) {
		return nil, fmt.Errorf("%s embeds itself", t)
	}
	loops := recursive(t, nil)
	if t == raw || t.Kind() == reflect.Interface || output && loops {
		return nil, nil
	}
	return reflected(t, output, loops)
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

func reflected(t reflect.Type, output, loops bool) (s json.RawMessage, err error) {
	defer func() { // the library panics at channels and functions
		if v := recover(); v != nil {
			err = fmt.Errorf("%s: %v", t, v)
		}
	}()
	// A type that holds itself needs references; any other is written out, for models and
	// providers that follow none.
	r := &jsonschema.Reflector{Anonymous: true}
	if !loops {
		r.DoNotReference, r.ExpandedStruct = true, t.Kind() == reflect.Struct
	}
	made := r.ReflectFromType(t)
	if made == nil {
		return nil, errors.New(t.String() + " has no schema")
	}
	made.Version = ""
	if output {
		nullable(made, t)
	}
	if made.Ref != "" && t.Kind() == reflect.Struct {
		made.Type = "object" // MCP wants it at the root
	}
	return json.Marshal(made)
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

// embeds reports whether t embeds itself, or something in it does: the library would follow it
// until the stack ends.
func embeds(t reflect.Type, within []reflect.Type) bool {
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
		if f := t.Field(i); f.Anonymous && embeds(f.Type, within) {
			return true
		}
	}
	return false
}

// nullable lets null stand in the struct t, of which s is the schema, where encoding/json
// writes it.
func nullable(s *jsonschema.Schema, t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer:
		nullable(s, t.Elem())
	case reflect.Slice, reflect.Array:
		s.Items = orNull(s.Items, t.Elem())
	case reflect.Map:
		s.AdditionalProperties = orNull(s.AdditionalProperties, t.Elem())
	case reflect.Struct:
		if s.Properties == nil {
			return // it encodes itself, as a time does
		}
		for _, f := range reflect.VisibleFields(t) {
			name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" {
				name = f.Name
			}
			if p, ok := s.Properties.Get(name); ok && !strings.Contains(opts, "omit") {
				s.Properties.Set(name, orNull(p, f.Type))
			} else if ok {
				nullable(p, f.Type)
			}
		}
	}
}

func orNull(s *jsonschema.Schema, t reflect.Type) *jsonschema.Schema {
	if s == nil || s == jsonschema.TrueSchema || s == jsonschema.FalseSchema {
		return s
	}
	nullable(s, t)
	switch t.Kind() {
	case reflect.Slice, reflect.Map, reflect.Pointer:
		description := s.Description
		s.Description = ""
		return &jsonschema.Schema{Description: description, AnyOf: []*jsonschema.Schema{s, {Type: "null"}}}
	}
	return s
}
