package schema

import (
	"slices"
	"strings"
)

// forms puts right, or drops, what has not the form that JSON Schema gives it, so that the other passes need not ask. The
// spellings of older drafts become those of draft 2020-12.
func (a *adapter) forms(d *draft) bool {
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
	a.draft4Bound(d, wordExclusiveMinimum, wordMinimum, "exclusiveMinimum")
	a.draft4Bound(d, wordExclusiveMaximum, wordMaximum, "exclusiveMaximum")
	return true
}

// nullable is OpenAPI 3.0's word for one more type, and goes with the types beside it.
func (a *adapter) nullable(d *draft) {
	v := d.get(wordNullable)
	if v == nil {
		return
	}
	union := d.get(wordAnyOf)
	switch {
	case v.kind == 'f':
	case d.has.has(wordType):
		d.set(wordType, "type", typeNode(d.declared()|typeNull))
		if e := d.get(wordEnum); e != nil && !slices.ContainsFunc(e.elems, isNull) {
			d.set(wordEnum, "enum", newArray(append(slices.Clone(e.elems), nullNode)...))
		}
	case union != nil:
		alone := newObject(newField(wordType, "type", newString("null")))
		d.set(wordAnyOf, "anyOf", newArray(append(slices.Clone(union.elems), alone)...))
	case d.has&(referenceWords|setOf(wordAllOf, wordOneOf)) != 0 && !d.root:
		alone := newObject(newField(wordType, "type", newString("null")))
		inner := without(d.node(), annotations|wordNullable.set())
		d.dropSet(^(annotations | wordNullable.set()))
		d.set(wordAnyOf, "anyOf", newArray(at(d.from, inner.fields...), alone))
	}
	if v.kind == 'f' || !a.takes(d, wordNullable) {
		a.change(d.from, RuleKeyword, "wrote nullable as the type null", "", "")
		d.drop(wordNullable)
	}
}

// form reports whether a keyword has its form, and another value where it can be put right.
func (a *adapter) form(d *draft, f *field) (ok bool, instead *node) {
	v := f.value
	switch f.word {
	case wordType:
		return a.typeForm(d, v)
	case wordProperties, wordPatternProperties, wordDependentSchemas, wordDefs, wordDefinitions:
		return v.kind == '{', nil
	case wordDependencies, wordDependentRequired:
		return v.kind == '{' && !slices.ContainsFunc(v.fields, func(g field) bool {
			return !isNames(g.value) && !(f.word == wordDependencies && g.value.isSchema())
		}), nil
	case wordRequired:
		return a.requiredForm(d, v)
	case wordEnum:
		if v.kind != '[' || len(v.elems) == 0 {
			return false, nil
		}
		whole := slices.DeleteFunc(slices.Clone(v.elems), func(e *node) bool { return hasHalf(e.append(nil)) })
		if len(whole) == len(v.elems) {
			return true, distinct(v)
		}
		if len(whole) == 0 { // then they can only be described
			return true, nil
		}
		a.change(d.from, RuleJSON, "dropped values with half a surrogate pair", "", sketchValues(v.elems))
		if v = newArray(whole...); distinct(v) != nil {
			v = distinct(v)
		}
		return true, v
	case wordAnyOf, wordOneOf, wordAllOf:
		return v.kind == '[' && len(v.elems) > 0, nil
	case wordPrefixItems:
		return v.kind == '[' && !slices.ContainsFunc(v.elems, func(e *node) bool { return !e.isSchema() }), nil
	case wordItems:
		return v.isSchema() || v.kind == '[' && !slices.ContainsFunc(v.elems, func(e *node) bool { return !e.isSchema() }), nil
	case wordNot, wordIf, wordThen, wordElse, wordContains, wordPropertyNames, wordAdditionalProperties, wordAdditionalItems,
		wordUnevaluatedItems, wordUnevaluatedProperties, wordContentSchema:
		return v.isSchema(), nil
	case wordRef, wordDynamicRef, wordRecursiveRef, wordDescription, wordTitle, wordFormat, wordPattern, wordContentEncoding,
		wordContentMediaType, wordSchema, wordID:
		return v.kind == '"', nil
	case wordAnchor:
		return v.kind == '"' || v.kind == 't' || v.kind == 'f', nil
	case wordMinimum, wordMaximum:
		return v.kind == '0', nil
	case wordMultipleOf:
		return v.kind == '0' && number(v) > 0, nil // 1e-999 is 0 to whoever reads it
	case wordExclusiveMinimum, wordExclusiveMaximum:
		return v.kind == '0' || v.kind == 't' || v.kind == 'f', nil
	case wordMinLength, wordMaxLength, wordMinItems, wordMaxItems, wordMinProperties, wordMaxProperties, wordMinContains, wordMaxContains:
		return v.kind == '0' && typeOfValue(v) == typeInteger && v.text[0] != '-', nil
	case wordUniqueItems, wordNullable:
		return v.kind == 't' || v.kind == 'f', nil
	case wordExamples:
		return v.kind == '[', nil
	}
	return true, nil
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

func (a *adapter) typeForm(d *draft, v *node) (bool, *node) {
	if v.kind == '[' {
		var names []*node
		for _, e := range v.elems {
			if name := e.string(); typeNamed(name) != 0 && !slices.ContainsFunc(names, e.same) {
				names = append(names, e)
			}
		}
		switch len(names) {
		case 0:
			return false, nil
		case 1:
			return true, names[0]
		case len(v.elems):
			return true, nil
		}
		return true, newArray(names...)
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
			a.change(d.from, RuleForm, "took the type "+brief(name)+" for array", "", "")
			d.set(wordItems, "items", newObject(newField(wordType, "type", newString(of))))
			return true, newString("array")
		}
	}
	if other := otherTypeNames[lower]; other != "" {
		lower = other
	}
	if typeNamed(lower) == 0 {
		return false, nil
	}
	a.change(d.from, RuleForm, "took the type "+brief(name)+" for "+lower, "", "")
	return true, newString(lower)
}

func (a *adapter) requiredForm(d *draft, v *node) (bool, *node) {
	if v.kind != '[' {
		return false, nil
	}
	var names []*node
	seen := make(map[string]bool, len(v.elems))
	for _, e := range v.elems {
		name := strings.ToValidUTF8(e.string(), "\uFFFD") // as whoever reads it with Go has it
		if e.kind == '"' && !seen[name] {
			seen[name] = true
			names = append(names, e)
		}
	}
	if len(names) == len(v.elems) {
		return true, nil
	}
	return true, newArray(names...)
}

// distinct is a list without its repeated values, nil if it has none.
func distinct(v *node) *node {
	seen := make(map[string]bool, len(v.elems))
	var kept []*node
	for _, e := range v.elems {
		text := string(e.append(nil))
		if !seen[text] {
			seen[text] = true
			kept = append(kept, e)
		}
	}
	if len(kept) == len(v.elems) {
		return nil
	}
	return newArray(kept...)
}

// draft4Bound reads exclusiveMinimum: true, which makes minimum exclusive.
func (a *adapter) draft4Bound(d *draft, exclusive, bound word, name string) {
	v := d.get(exclusive)
	if v == nil || v.kind == '0' {
		return
	}
	limit := d.get(bound)
	if v.kind == 't' && limit != nil {
		d.set(exclusive, name, limit)
		d.drop(bound)
	} else {
		d.drop(exclusive)
	}
	a.change(d.from, RuleForm, "wrote "+name+" as a number", "", "")
}

// less compares two numbers as they are written.
func less(x, y *node) bool { return number(x) < number(y) }
