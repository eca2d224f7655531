package validate

import (
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// beside are the schemas that a value which s is for is held against too, whatever the value.
func beside(s *jsonschema.Schema) []*jsonschema.Schema {
	all := present(s.Ref, s.Not, s.If, s.Then, s.Else)
	return slices.Concat(all, s.AllOf, s.AnyOf, s.OneOf)
}

// parts are all schemas that s leads to, for the same value and for those inside it.
func parts(s *jsonschema.Schema) []*jsonschema.Schema {
	all := beside(s)
	all = append(all, present(
		s.PropertyNames, one(s.AdditionalProperties), s.UnevaluatedProperties,
		one(s.Items), s.Items2020, one(s.AdditionalItems), s.Contains, s.UnevaluatedItems,
	)...)
	tuple, _ := s.Items.([]*jsonschema.Schema)
	all = slices.Concat(all, tuple, s.PrefixItems)
	all = slices.AppendSeq(all, maps.Values(s.Properties))
	all = slices.AppendSeq(all, maps.Values(s.PatternProperties))
	all = slices.AppendSeq(all, maps.Values(s.DependentSchemas))
	for _, dependency := range s.Dependencies {
		all = append(all, present(one(dependency))...)
	}
	return all
}

// one is v where that is one schema, else nil.
func one(v any) *jsonschema.Schema {
	s, _ := v.(*jsonschema.Schema)
	return s
}

// present are those that are there.
func present(schemas ...*jsonschema.Schema) []*jsonschema.Schema {
	return slices.DeleteFunc(schemas, func(s *jsonschema.Schema) bool { return s == nil })
}
