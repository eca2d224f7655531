package schema

import (
	"fmt"
	"unicode/utf8"
)

// checkBounds reports what an adapted schema exceeds: the bounds of any schema, or those of the profile.
func (a *adapter) checkBounds(root *node, text []byte) error {
	if len(text) > DefaultBytes {
		return &LimitError{Bound: "bytes", Found: len(text), Limit: DefaultBytes}
	}
	r := reader{text: text, limits: Limits{}.withDefaults()}
	if excess := r.read(); excess != nil {
		excess.Pointer, excess.Offset = "", 0 // which are of no schema that anybody has
		return excess
	}
	c := counter{enumMany: a.rules.Limits.EnumMany}
	c.schema(root, 1)
	l := a.rules.Limits
	for _, bound := range []struct {
		what         string
		found, limit int
	}{
		{"levels", c.depth, l.Depth},
		{"properties", c.properties, l.Properties},
		{"enum values", c.values, l.EnumValues},
		{"characters in one enum", c.enumText, l.EnumText},
		{"characters of names and values", c.text, l.Text},
		{"optional properties", c.optional, l.Optional},
		{"unions", c.unions, l.Unions},
		{"branches of a union", c.branches, l.Branches},
		{"bytes", len(text), l.Bytes},
	} {
		if bound.limit > 0 && bound.found > bound.limit {
			return fmt.Errorf("%w: %d %s, and %s takes %d", errLimits, bound.found, bound.what, a.profile.name, bound.limit)
		}
	}
	return nil
}

// counter counts what is limited.
type counter struct {
	enumMany                                                              int
	depth, properties, values, enumText, text, optional, unions, branches int
}

func (c *counter) schema(n *node, depth int) {
	c.depth = max(c.depth, depth)
	for i := range n.fields {
		f := &n.fields[i]
		switch f.name {
		case "properties":
			c.properties += len(f.value.fields)
			c.optional += max(0, len(f.value.fields)-len(n.get("required").list()))
			fallthrough
		case "$defs":
			for j := range f.value.fields {
				c.text += utf8.RuneCountInString(f.value.fields[j].name)
				c.schema(f.value.fields[j].value, depth+1)
			}
		case "items", "additionalProperties":
			if f.value.kind == '{' {
				c.schema(f.value, depth+1)
			}
		case "anyOf":
			c.unions++
			c.branches = max(c.branches, len(f.value.elems))
			for _, e := range f.value.elems {
				c.schema(e, depth)
			}
		case "type":
			if f.value.kind == '[' {
				c.unions++
			}
		case "enum":
			c.enum(f.value.elems)
		case "const":
			c.text += f.value.runes()
		}
	}
}

func (c *counter) enum(all []*node) {
	c.values += len(all)
	size := 0
	for _, v := range all {
		size += v.runes()
	}
	c.text += size
	if c.enumMany > 0 && len(all) > c.enumMany {
		c.enumText = max(c.enumText, size)
	}
}

// runes is how many characters the strings, names and numbers in a value have.
func (n *node) runes() int {
	size := 0
	switch n.kind {
	case '"':
		return utf8.RuneCountInString(unquote(n.text))
	case '0':
		return len(n.text)
	}
	for _, f := range n.fields {
		size += utf8.RuneCountInString(f.name) + f.value.runes()
	}
	for _, e := range n.elems {
		size += e.runes()
	}
	return size
}
