package schema

import (
	"fmt"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/jsontree"
)

// checkBounds returns an error if an adapted schema exceeds the general bounds or the bounds of the profile.
func (a *adapter) checkBounds(root *node, text []byte) error {
	if len(text) > DefaultBytes {
		return &LimitError{Bound: "bytes", Found: len(text), Limit: DefaultBytes}
	}
	if excess := jsontree.Measure(text, DefaultDepth, DefaultNodes); excess != nil {
		// The pointer would lead into a schema that the caller does not have.
		return &LimitError{Bound: excess.Bound, Found: excess.Found, Limit: excess.Limit}
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

// counter counts the quantities that a profile may limit.
type counter struct {
	enumMany                                                              int
	depth, properties, values, enumText, text, optional, unions, branches int
}

func (c *counter) schema(n *node, depth int) {
	c.depth = max(c.depth, depth)
	for i := range n.Fields {
		f := &n.Fields[i]
		switch f.Name {
		case "properties":
			c.properties += len(f.Value.Fields)
			c.optional += max(0, len(f.Value.Fields)-len(n.Get("required").Elements()))
			fallthrough
		case "$defs":
			for j := range f.Value.Fields {
				c.text += utf8.RuneCountInString(f.Value.Fields[j].Name)
				c.schema(f.Value.Fields[j].Value, depth+1)
			}
		case "items", "additionalProperties":
			if f.Value.Kind == '{' {
				c.schema(f.Value, depth+1)
			}
		case "anyOf":
			c.unions++
			c.branches = max(c.branches, len(f.Value.Elems))
			for _, e := range f.Value.Elems {
				c.schema(e, depth)
			}
		case "type":
			if f.Value.Kind == '[' {
				c.unions++
			}
		case "enum":
			c.enum(f.Value.Elems)
		case "const":
			c.text += f.Value.Characters()
		}
	}
}

func (c *counter) enum(all []*node) {
	c.values += len(all)
	size := 0
	for _, v := range all {
		size += v.Characters()
	}
	c.text += size
	if c.enumMany > 0 && len(all) > c.enumMany {
		c.enumText = max(c.enumText, size)
	}
}
