package schema

import (
	"slices"
	"strings"

	"github.com/indusagi/indus/schema/rule"
)

// addType gives a schema the types that its consumer requires: a single type if it accepts no list, and an inferred
// type if it requires one.
func (a *adapter) addType(d *builder) bool {
	if d.finished || !d.root && d.hasAny("anyOf", "$ref") {
		return true
	}
	if d.root {
		if !d.declared().has(typeObject) {
			return false
		}
		if t := d.get("type"); t == nil || t.Kind == '[' {
			a.change(d.original, rule.Root, "made the root an object", "", "")
			d.set("type", newString("object"))
		}
		return true
	}
	if t := d.get("type"); t != nil {
		return a.filterTypes(d, t)
	}
	if !a.rules.TypeAlways || d.has("oneOf") {
		return true
	}
	t := suggestedTypes(d)
	if t != everyType {
		narrowed := "what is no " + t.String()
		if allowedValues(d.node()) != nil {
			narrowed = ""
		}
		a.change(d.original, rule.Type, "took the type for "+t.String(), "", narrowed)
		return a.splitTypes(d, t, t.types())
	}
	a.change(d.original, rule.Type, "took no type for every type", "", "some values: null, and what is nested deep")
	return a.unionOfAllTypes(d)
}

// dropForeignKeywords drops keywords that do not apply to the given type. rule.Keywords that hold schemas are always
// dropped. Other keywords are dropped only if the consumer refuses them.
func (a *adapter) dropForeignKeywords(d *builder) bool {
	if d.finished || !d.has("type") {
		return true
	}
	t := d.declared()
	var dropped []string
	for i := 0; i < len(d.fields); i++ {
		f := d.fields[i]
		if !a.isForeign(f, t) {
			continue
		}
		text := a.describeForeign(f)
		if text != "" && a.accepts(d, f.Name) && !a.rules.TypedKeywords && !a.rules.TypeAlways {
			if r := a.schema(madeFor(d.original, f)); r.node != nil && r.node.Get(f.Name) != nil {
				f.Value = r.node.Get(f.Name)
			}
			if a.describeForeign(f) != "" { // the adapted keyword still has a constraint
				d.fields[i] = f
				continue
			}
		}
		d.note(text)
		dropped = append(dropped, f.Name)
		d.fields = slices.Delete(d.fields, i, i+1)
		i--
	}
	if dropped != nil {
		a.change(d.original, rule.Type, "dropped what says nothing of its type: "+strings.Join(dropped, ", "), "", "")
	}
	return true
}

// describeForeign describes a keyword of another type that its author meant, such as items of an object, or returns "".
func (a *adapter) describeForeign(f field) string {
	switch {
	case f.Name == "items" && !isUnconstrained(f.Value):
		return "items: " + a.sketchFree(func() string { return a.sketch(f.Value) })
	case f.Name == "properties" && len(f.Value.Fields) > 0:
		return "properties: " + a.sketchFree(func() string { return a.sketch(newObject(f)) })
	}
	return ""
}

func (a *adapter) isForeign(f field, t typeSet) bool {
	if appliesToOther(f.Name, t) {
		return a.rules.TypedKeywords || typedWords[f.Name].has(typeObject|typeArray)
	}
	return f.Name == "format" && a.rules.TypedKeywords && !formatSuits(f.Value.Unquoted(), t)
}

func formatSuits(format string, t typeSet) bool {
	switch format {
	case "int32", "int64":
		return t.has(typeInteger) && !t.has(typeNumber)
	case "float", "double":
		return t.has(typeNumber)
	}
	return t.has(typeString)
}

// filterTypes adapts a type that the schema states.
func (a *adapter) filterTypes(d *builder, t *node) bool {
	all := d.declared()
	if t.Kind == '[' && len(t.Elems) == 1 {
		d.set("type", newString(all.single()))
	}
	if rest := all & a.acceptedTypes; rest != all {
		if rest == 0 {
			return false
		}
		d.set("type", typeNode(rest))
		all = rest
	}
	if all.single() != "" {
		if t.Kind == '[' {
			d.set("type", newString(all.single()))
		}
		return true
	}
	if !a.rules.TypeSingle {
		return true
	}
	a.change(d.original, rule.Type, "wrote a list of types as a union", "", "")
	return a.splitTypes(d, all, all.sortedBy(t))
}

// splitTypes makes a union of the types, each with the keywords that apply to it.
func (a *adapter) splitTypes(d *builder, all typeSet, each []typeSet) bool {
	if len(each) == 1 {
		d.set("type", newString(all.single()))
		return true
	}
	union := &node{Kind: '['}
	for _, member := range each {
		n := madeFor(d.original, typeField(member.single()))
		for _, f := range d.fields {
			if f.Name != "type" && !isAnnotation(f.Name) && !appliesToOther(f.Name, member) {
				n.Fields = append(n.Fields, f)
			}
		}
		union.Elems = append(union.Elems, n)
	}
	d.dropIf(func(w string) bool { return !isAnnotation(w) })
	if a.accepts(d, "anyOf") {
		return a.distribute(d, union)
	}
	return a.collapse(d, union) && a.addType(d)
}

// unionOfAllTypes makes a union of all types that the profile can express.
func (a *adapter) unionOfAllTypes(d *builder) bool {
	text := madeFor(d.original, typeField("string"))
	if !a.accepts(d, "anyOf") {
		d.note("any JSON value")
		d.set("type", newString("string"))
		return true
	}
	union := newArray(text)
	for _, name := range []string{"number", "boolean"} {
		union.Elems = append(union.Elems, madeFor(d.original, typeField(name)))
	}
	if !a.rules.Closed {
		object := madeFor(d.original, typeField("object"))
		if a.rules.ObjectProperties {
			object.Fields = append(object.Fields, newMember("properties", newObject()))
		}
		union.Elems = append(union.Elems, object)
	}
	list := madeFor(d.original, typeField("array"), newMember("items", text))
	union.Elems = append(union.Elems, list)
	return a.distribute(d, union)
}

// filterEnum keeps the values that the consumer accepts, with their types.
func (a *adapter) filterEnum(d *builder) bool {
	e := d.get("enum")
	if e == nil || d.finished || !a.accepts(d, "enum") {
		return true
	}
	declared := d.declared()
	possible := slices.DeleteFunc(slices.Clone(e.Elems), func(v *node) bool {
		return typeOfValue(v)&declared == 0 && !isWhole(v, declared)
	})
	if len(possible) == 0 {
		return false
	}
	accepted := slices.DeleteFunc(slices.Clone(possible), func(v *node) bool {
		return typeOfValue(v)&a.enumTypes == 0 || a.rules.EnumFilled && string(v.Text) == `""`
	})
	if limit := a.rules.Limits.EnumValues; limit > 0 && len(accepted) > limit {
		accepted = nil
	}
	switch {
	case len(accepted) == len(e.Elems):
		return true
	case len(accepted) == len(possible):
		a.change(d.original, rule.Enum, "dropped values that the type refuses", "", "")
	case len(accepted) > 0 && d.get("type") != nil && d.get("type").Kind != '[':
		a.change(d.original, rule.Enum, "dropped values of the enum", "", sketchValues(possible))
		d.note("else one of " + sketchValues(possible))
	default:
		lost := "that it is one of " + sketchValues(possible)
		if bothBooleans(possible) || len(possible) == 1 && isNull(possible[0]) {
			lost = ""
		} else {
			d.note("one of " + sketchValues(possible))
		}
		a.change(d.original, rule.Enum, "dropped enum", lost, "")
		d.drop("enum")
		if d.get("type") == nil {
			return true
		}
		return a.filterTypes(d, d.get("type"))
	}
	d.set("enum", newArray(accepted...))
	return true
}

func bothBooleans(all []*node) bool {
	return len(all) == 2 && typeOfValue(all[0]) == typeBoolean && typeOfValue(all[1]) == typeBoolean &&
		!all[0].Same(all[1])
}
