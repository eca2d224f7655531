package validate

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/jsontree"
	"github.com/indusagi/indus/schema"
)

// Bounds of a correction. Beyond them, the arguments stay as they are.
const (
	maxCorrections = 500_000 // schemas visited
	maxNested      = 64      // values within values, also within strings
)

// Correct returns arguments with two frequent mistakes of models put right. Where the schema accepts no string, a
// string that is the JSON of an accepted type becomes that value. Null for an optional property that may not be null is
// left out. Everything else stays, and numbers keep their digits. The result may still be invalid. If there is nothing
// to correct, it is the input itself.
func (v *Validator) Correct(arguments json.RawMessage) json.RawMessage {
	if v == nil {
		return arguments
	}
	value, err := readValue(arguments, argumentLimits)
	if err != nil {
		return arguments
	}
	c := &correction{kinds: map[*rule]string{}, open: map[*rule]bool{}}
	corrected := c.value(v.root, value, 0)
	if !c.changed || c.work > maxCorrections {
		return arguments
	}
	return corrected.Append(nil)
}

// correction is the state of one call of Correct.
type correction struct {
	changed bool
	work    int
	kinds   map[*rule]string // results of accepts
	open    map[*rule]bool   // schemas that below looks at now
}

// allKinds has the letter of each kind of value: object, list, string, number, boolean and null.
const allKinds = `{["0tn`

// value corrects a value for a schema. A nil schema accepts every value.
func (c *correction) value(r *rule, v *node, depth int) *node {
	if c.work++; r == nil || depth > maxNested || c.work > maxCorrections {
		return v
	}
	if v.Is(`"`) {
		v = c.unquoted(r, v)
	}
	switch v.Kind {
	case '{':
		return c.object(r, v, depth)
	case '[':
		out := *v
		out.Text, out.Elems = nil, slices.Clone(v.Elems)
		for i, item := range v.Elems {
			sub := c.below(r, v, func(r *rule) *rule { return r.item(i) })
			out.Elems[i] = c.value(sub, item, depth+1)
		}
		return c.unlessSame(&out, v)
	}
	return v
}

// unlessSame returns v itself if out has the same members and items.
func (c *correction) unlessSame(out, v *node) *node {
	same := func(a, b jsontree.Field) bool { return a.Value == b.Value }
	if slices.EqualFunc(out.Fields, v.Fields, same) && slices.Equal(out.Elems, v.Elems) {
		return v
	}
	c.changed = true
	return out
}

// unquoted returns the value that a string holds as JSON if the schema accepts this value and no string.
func (c *correction) unquoted(r *rule, v *node) *node {
	kinds := c.accepts(r)
	if strings.Contains(kinds, `"`) || kinds == "" {
		return v
	}
	inner, err := readValue([]byte(strings.TrimSpace(v.Content())), schema.Limits{Depth: maxNested, Nodes: MaxNodes})
	if err != nil || !strings.Contains(kinds, kindOf(inner)) || inner.Is("0") && !c.isNumberFor(r, inner) {
		return v
	}
	c.changed = true
	return inner
}

// isNumberFor reports whether a schema that accepts only whole numbers accepts a number.
func (c *correction) isNumberFor(r *rule, n *node) bool {
	return len(r.types) == 0 || slices.ContainsFunc(r.types, func(name string) bool { return isType(n, name) })
}

func (c *correction) object(r *rule, v *node, depth int) *node {
	out := *v
	out.Text, out.Fields = nil, make([]jsontree.Field, 0, len(v.Fields))
	required := map[string]bool{}
	c.required(r, v, required, 0)
	for _, f := range v.Fields {
		sub := c.below(r, v, func(r *rule) *rule {
			for _, p := range r.patterns {
				c.work += 1 + p.cost(len(f.Name))
			}
			if c.work > maxCorrections {
				return nil
			}
			return r.member(f.Name)
		})
		if f.Value.Is("n") && sub != nil && !required[f.Name] && c.declares(r, v, f.Name) {
			if kinds := c.accepts(sub); kinds != "" && !strings.Contains(kinds, "n") {
				continue
			}
		}
		f.Value = c.value(sub, f.Value, depth+1)
		out.Fields = append(out.Fields, f)
	}
	return c.unlessSame(&out, v)
}

// declares reports whether a schema has a property by its name. The null of any other key, such as a key of a map, is
// data.
func (c *correction) declares(r *rule, v *node, name string) bool {
	return c.below(r, v, func(r *rule) *rule { return r.properties[name] }) != nil
}

// member returns the schema of a property in the keywords of r itself, or nil if they state nothing about it.
func (r *rule) member(name string) *rule {
	var parts []*rule
	if sub := r.properties[name]; sub != nil {
		parts = append(parts, sub)
	}
	for _, p := range r.patterns {
		if p.MatchString(name) {
			parts = append(parts, p.rule)
		}
	}
	switch {
	case len(parts) == 1:
		return parts[0]
	case len(parts) > 0:
		return &rule{allOf: parts}
	case r.anyName:
		return nil
	}
	return r.additional
}

// below returns the schema that r requires of a member or an item of v, or nil if there is none. own returns the part
// in the keywords of one schema. Parts of a reference and of allOf hold together, parts of anyOf and oneOf as
// alternatives.
func (c *correction) below(r *rule, v *node, own func(*rule) *rule) *rule {
	if r = referred(r); c.open[r] {
		return nil
	}
	if c.work++; c.work > maxCorrections {
		return nil
	}
	c.open[r] = true
	defer delete(c.open, r)
	var all []*rule
	add := func(sub *rule) {
		if sub != nil && !slices.Contains(all, sub) {
			all = append(all, sub)
		}
	}
	if sub := own(r); sub != nil {
		add(referred(sub))
	}
	if r.ref != nil {
		add(c.below(r.ref, v, own))
	}
	for _, sub := range r.allOf {
		add(c.below(sub, v, own))
	}
	for _, branches := range [][]*rule{r.anyOf, r.oneOf} {
		if branches != nil {
			add(c.either(branches, v, own))
		}
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return &rule{allOf: all}
}

// either returns what the branches that v may fit require, or nil if one of them requires nothing.
func (c *correction) either(branches []*rule, v *node, own func(*rule) *rule) *rule {
	var all []*rule
	free := false
	for _, branch := range branches {
		if c.work += 1 + len(all) + sizeOf(v)/16; c.work > maxCorrections {
			return nil
		}
		branch = referred(branch)
		if c.open[branch] || isOther(branch, v) || !strings.Contains(c.accepts(branch), kindOf(v)) {
			continue
		}
		sub := c.below(branch, v, own)
		free = free || sub == nil
		if sub != nil && !slices.Contains(all, sub) {
			all = append(all, sub)
		}
	}
	switch {
	case free || len(all) == 0:
		return nil
	case len(all) == 1:
		return all[0]
	}
	return &rule{anyOf: all}
}

// isOther reports whether a constant of a branch, such as {"kind":{"const":"circle"}}, excludes an object.
func isOther(branch *rule, v *node) bool {
	for _, f := range v.Fields {
		sub := branch.properties[f.Name]
		if sub == nil || !f.Value.Is(`"`) {
			continue
		}
		constants := sub.constant
		if constants == nil {
			constants = sub.values
		}
		if constants != nil && !constants[canonical(f.Value)] {
			return true
		}
	}
	return false
}

// referred follows references to the schema that they lead to.
func referred(r *rule) *rule {
	for range maxNested {
		if r.ref == nil || len(r.subrules()) > 1 || r.types != nil || r.constant != nil || r.values != nil ||
			r.required != nil {
			return r
		}
		r = r.ref
	}
	return r
}

// required collects the properties that a schema requires, in any of its branches.
func (c *correction) required(r *rule, v *node, names map[string]bool, depth int) {
	if c.work++; depth > maxNested || c.work > maxCorrections {
		return
	}
	for _, name := range r.required {
		names[name] = true
	}
	for _, sub := range slices.Concat(r.allOf, r.anyOf, r.oneOf) {
		if !isOther(referred(sub), v) {
			c.required(sub, v, names, depth+1)
		}
	}
	if r.ref != nil {
		c.required(r.ref, v, names, depth+1)
	}
}

// accepts returns the kinds of values that a schema may accept, as letters of allKinds. While a schema leads back to
// itself, it accepts all.
func (c *correction) accepts(r *rule) string {
	if known, ok := c.kinds[r]; ok {
		return known
	}
	c.work++
	c.kinds[r] = allKinds
	kinds := allKinds
	keep := func(accepted string) {
		kinds = strings.Map(func(kind rune) rune {
			if strings.ContainsRune(accepted, kind) {
				return kind
			}
			return -1
		}, kinds)
	}
	switch {
	case r.never:
		kinds = ""
	case r.types != nil:
		keep(kindsOfTypes(r.types))
	}
	for _, constants := range []map[string]bool{r.constant, r.values} {
		if constants != nil {
			keep(kindsOfConstants(constants))
		}
	}
	if r.ref != nil {
		keep(c.accepts(r.ref))
	}
	for _, sub := range r.allOf {
		keep(c.accepts(sub))
	}
	for _, branches := range [][]*rule{r.anyOf, r.oneOf} {
		if branches != nil {
			either := ""
			for _, sub := range branches {
				either += c.accepts(sub)
			}
			keep(either)
		}
	}
	c.kinds[r] = kinds
	return kinds
}

func kindsOfTypes(names []string) (kinds string) {
	letters := map[string]string{
		"object": "{", "array": "[", "string": `"`, "number": "0", "integer": "0", "boolean": "t", "null": "n",
	}
	for _, name := range names {
		kinds += letters[name]
	}
	return kinds
}

func kindsOfConstants(constants map[string]bool) (kinds string) {
	for text := range constants {
		switch first := text[:1]; first {
		case "{", "[", `"`, "t", "n":
			kinds += first
		case "f":
			kinds += "t"
		default:
			kinds += "0"
		}
	}
	return kinds
}

func kindOf(v *node) string {
	switch v.Kind {
	case '0', 0:
		return "0"
	case 'f':
		return "t"
	}
	return string(rune(v.Kind))
}
