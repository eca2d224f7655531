package toolbox

import (
	"bytes"
	"strings"

	"github.com/indusagi/indus/schema"
)

// fit fills what a model sees of d, or why it sees nothing. Of a tool that was there
// before with the same schema it is known already.
func (b *Box) fit(d Descriptor, before *view) Descriptor {
	d.Parameters = nil
	if d.Unfit != "" {
		return d
	}
	if known, ok := before.find(d.Name); ok && known.Unfit == "" && bytes.Equal(known.Schema, d.Schema) {
		d.Parameters = known.Parameters
		return d
	}
	if d.Unfit = unfit(d); d.Unfit == "" {
		d.Parameters = b.profile.Apply(d.Schema)
	}
	return d
}

func (v *view) find(name string) (Descriptor, bool) {
	if v == nil {
		return Descriptor{}, false
	}
	t, ok := v.tools[name]
	if !ok {
		return Descriptor{}, false
	}
	return v.all.Tools[t.at], true
}

// unfit says why no model provider would take d.
func unfit(d Descriptor) string {
	if !isPlainName(d.Name) {
		return "its name is not a letter and up to 63 letters, digits, _ and -"
	}
	if err := schema.Measure(d.Schema, schema.Limits{}); err != nil {
		return strings.TrimPrefix(err.Error(), "schema: ")
	}
	if !isObject(d.Schema) {
		return "its schema is not a JSON object"
	}
	return ""
}

func isPlainName(name string) bool {
	for i, r := range name {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || !('0' <= r && r <= '9' || r == '_' || r == '-')) {
			return false
		}
	}
	return name != "" && len(name) <= 64
}
