package schema

import (
	"slices"
	"strings"
)

// forms puts right, or drops, what has not the form that JSON Schema gives it, so that the other stages need not ask. The
// spellings of older drafts become those of draft 2020-12.
func (a *adapter) forms(d *builder) bool {
	for i := 0; i < len(d.fields); i++ {
		f := d.fields[i]
		if f.word == wordOther || f.word == wordNote {
			continue
		}
		if wellFormed, value := a.form(d, &f); value != nil {
			d.fields[i].value = value
		} else if !wellFormed {
			a.change(d.from, RuleForm, "dropped "+string(f.name)+", whose value has not its form", string(f.name), "")
			d.drop(f.word)
			i--
		}
	}
	a.nullable(d)
	a.draft4Bound(d, wordExclusiveMinimum, wordMinimum)
	a.draft4Bound(d, wordExclusiveMaximum, wordMaximum)
	return true
}

// nullable is OpenAPI 3.0's word for one more type, and goes with the types beside it.
func (a *adapter) nullable(d *builder) {
	v := d.get(wordNullable)
	if v == nil {
		return
	}
	union := d.get(wordAnyOf)
	switch {
	case v.kind == 'f':
	case d.has.has(wordType):
		d.set(wordType, typeNode(d.declared()|typeNull))
		if e := d.get(wordEnum); e != nil && !slices.ContainsFunc(e.elems, isNull) {
			d.set(wordEnum, newArray(append(slices.Clone(e.elems), nullNode)...))
		}
	case union != nil:
		d.set(wordAnyOf, newArray(append(slices.Clone(union.elems), newTyped("null"))...))
	case d.has&(referenceWords|setOf(wordAllOf, wordOneOf)) != 0 && !d.root:
		inner := withoutWords(d.node(), annotations|wordNullable.set())
		d.dropSet(^(annotations | wordNullable.set()))
		d.set(wordAnyOf, newArray(madeFor(d.from, inner.fields...), newTyped("null")))
	}
	if v.kind == 'f' || !a.takes(d, wordNullable) {
		a.change(d.from, RuleKeyword, "wrote nullable as the type null", "", "")
		d.drop(wordNullable)
	}
}

// formKinds are the kinds of value that keywords take, for those of which that is all of the form.
var formKinds = []struct {
	of    words
	kinds string // of node
}{
	{setOf(wordProperties, wordPatternProperties, wordDependentSchemas, wordDefs, wordDefinitions), "{"},
	{setOf(wordNot, wordIf, wordThen, wordElse, wordContains, wordPropertyNames, wordAdditionalProperties, wordAdditionalItems,
		wordUnevaluatedItems, wordUnevaluatedProperties, wordContentSchema), "{tf"},
	{setOf(wordRef, wordDynamicRef, wordRecursiveRef, wordDescription, wordTitle, wordFormat, wordPattern, wordContentEncoding,
		wordContentMediaType, wordSchema, wordID), `"`},
	{wordAnchor.set(), `"tf`},
	{setOf(wordMinimum, wordMaximum), "0"},
	{setOf(wordExclusiveMinimum, wordExclusiveMaximum), "0tf"},
	{setOf(wordUniqueItems, wordNullable), "tf"},
	{wordExamples.set(), "["},
}

// form reports whether a keyword has its form, and another value where it can be put right.
func (a *adapter) form(d *builder, f *field) (ok bool, instead *node) {
	v := f.value
	noSchema := func(e *node) bool { return !e.isSchema() }
	switch f.word {
	case wordType:
		return a.typeForm(d, v)
	case wordDependencies, wordDependentRequired:
		return v.kind == '{' && !slices.ContainsFunc(v.fields, func(g field) bool {
			return !isNames(g.value) && !(f.word == wordDependencies && g.value.isSchema())
		}), nil
	case wordRequired:
		return v.kind == '[', requiredNames(v)
	case wordEnum:
		return v.kind == '[' && len(v.elems) > 0, a.enumValues(d, v)
	case wordAnyOf, wordOneOf, wordAllOf:
		return v.kind == '[' && len(v.elems) > 0, nil
	case wordPrefixItems:
		return v.kind == '[' && !slices.ContainsFunc(v.elems, noSchema), nil
	case wordItems:
		return v.isSchema() || v.kind == '[' && !slices.ContainsFunc(v.elems, noSchema), nil
	case wordMultipleOf:
		return v.kind == '0' && numberOf(v) > 0, nil // 1e-999 is 0 to whoever reads it
	case wordMinLength, wordMaxLength, wordMinItems, wordMaxItems, wordMinProperties, wordMaxProperties, wordMinContains, wordMaxContains:
		return v.kind == '0' && typeOfValue(v) == typeInteger && v.text[0] != '-', nil
	}
	for _, k := range formKinds {
		if k.of.has(f.word) {
			return strings.IndexByte(k.kinds, v.kind) >= 0, nil
		}
	}
	return true, nil
}

// requiredNames are the different names in required, nil where it has nothing else.
func requiredNames(v *node) *node {
	names := slices.DeleteFunc(slices.Clone(v.elems), func(e *node) bool { return e.kind != '"' })
	return v.unlessAll(withoutSame(names, func(e *node) string {
		return strings.ToValidUTF8(e.string(), "\uFFFD") // as whoever reads it with Go has it
	}))
}

// enumValues are the different values of an enum that are text, nil where it has nothing else.
func (a *adapter) enumValues(d *builder, v *node) *node {
	valid := slices.DeleteFunc(slices.Clone(v.elems), func(e *node) bool { return hasHalf(e.append(nil)) })
	if len(valid) == 0 { // then they can only be described
		return nil
	}
	if len(valid) < len(v.elems) {
		a.change(d.from, RuleJSON, "dropped values with half a surrogate pair", "", sketchValues(v.elems))
	}
	return v.unlessAll(withoutSame(valid, (*node).compact))
}

// unlessAll is a list of those of v's elements, nil where they are all.
func (v *node) unlessAll(elems []*node) *node {
	if v.kind != '[' || len(elems) == len(v.elems) {
		return nil
	}
	return newArray(elems...)
}

// isNames reports a list of different strings.
func isNames(v *node) bool {
	return v.kind == '[' && !slices.ContainsFunc(v.elems, func(e *node) bool { return e.kind != '"' }) && len(namesOf(newArray(), v).elems) == len(v.elems)
}

// otherTypeNames are what schemas say that mean another language's types.
var otherTypeNames = map[string]string{
	"str": "string", "text": "string", "int": "integer", "long": "integer", "float": "number", "double": "number",
	"decimal": "number", "bool": "boolean", "list": "array", "tuple": "array", "set": "array", "dict": "object",
	"map": "object", "record": "object", "none": "null",
}

func (a *adapter) typeForm(d *builder, v *node) (bool, *node) {
	if v.kind == '[' {
		known := slices.DeleteFunc(slices.Clone(v.elems), func(e *node) bool { return typeNamed(e.string()) == 0 })
		switch names := withoutSame(known, (*node).string); len(names) {
		case 0:
			return false, nil
		case 1:
			return true, names[0]
		default:
			return true, v.unlessAll(names)
		}
	}
	name := v.string()
	if typeNamed(name) != 0 {
		return true, nil
	}
	lower := strings.ToLower(name)
	if of, isList := strings.CutSuffix(lower, "[]"); isList && d.get(wordItems) == nil {
		if other := otherTypeNames[of]; other != "" {
			of = other
		}
		if typeNamed(of) != 0 {
			a.change(d.from, RuleForm, "took the type "+briefName(name)+" for array", "", "")
			d.set(wordItems, newObject(typeField(of)))
			return true, newString("array")
		}
	}
	if other := otherTypeNames[lower]; other != "" {
		lower = other
	}
	if typeNamed(lower) == 0 {
		return false, nil
	}
	a.change(d.from, RuleForm, "took the type "+briefName(name)+" for "+lower, "", "")
	return true, newString(lower)
}

// withoutSame is a list without what has the same text as one before.
func withoutSame(all []*node, text func(*node) string) []*node {
	seen := make(map[string]bool, len(all))
	return slices.DeleteFunc(all, func(e *node) bool {
		known := seen[text(e)]
		seen[text(e)] = true
		return known
	})
}

// draft4Bound reads exclusiveMinimum: true, which makes minimum exclusive.
func (a *adapter) draft4Bound(d *builder, exclusive, bound word) {
	v := d.get(exclusive)
	if v == nil || v.kind == '0' {
		return
	}
	limit := d.get(bound)
	if v.kind == 't' && limit != nil {
		d.set(exclusive, limit)
		d.drop(bound)
	} else {
		d.drop(exclusive)
	}
	a.change(d.from, RuleForm, "wrote "+wordNames[exclusive]+" as a number", "", "")
}
