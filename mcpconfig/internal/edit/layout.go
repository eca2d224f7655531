package edit

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// maxLine is how long a line may be that is written on its own account.
const maxLine = 100

// broad reports whether the rows of a list are on several lines each.
func (t *jsonText) broad(in *hujson.Value) (broad bool) {
	each := func(v *hujson.Value) {
		if v.Value.Kind() == '{' && v.EndOffset-v.StartOffset > 2 {
			broad = bytes.IndexByte(t.text[v.StartOffset:v.EndOffset], '\n') >= 0
		}
	}
	for _, m := range tree.Members(in) {
		each(&m.Value)
	}
	for _, e := range tree.Elements(in) {
		each(e)
	}
	return broad
}

// item is a member, or without a key an element, as it is in a text.
func (t *jsonText) item(key string, v hujson.Value, indent string, inline, broad bool) string {
	if key != "" {
		key += t.colon
	}
	if !inline && !broad && utf8.RuneCountInString(indent+key+t.flat(v)) > maxLine {
		broad = true
	}
	return key + t.value(v, indent, inline, broad)
}

// value is on one line if it must be or may be.
func (t *jsonText) value(v hujson.Value, indent string, inline, broad bool) string {
	flat := t.flat(v)
	if inline || !broad && utf8.RuneCountInString(indent+flat) <= maxLine {
		return flat
	}
	var items []string
	deeper := indent + t.unit
	brackets := "{}"
	for _, m := range tree.Members(&v) {
		items = append(items, t.item(string(m.Name.Value.(hujson.Literal)), m.Value, deeper, false, false))
	}
	for _, e := range tree.Elements(&v) {
		brackets = "[]"
		items = append(items, t.item("", *e, deeper, false, false))
	}
	if len(items) == 0 {
		return flat
	}
	end := ""
	if t.trailing {
		end = ","
	}
	between := "," + t.newline + deeper
	return brackets[:1] + t.newline + deeper + strings.Join(items, between) + end + t.newline + indent + brackets[1:]
}

// flat is a value on one line.
func (t *jsonText) flat(v hujson.Value) string {
	var items []string
	for _, m := range tree.Members(&v) {
		items = append(items, string(m.Name.Value.(hujson.Literal))+t.colon+t.flat(m.Value))
	}
	for _, e := range tree.Elements(&v) {
		items = append(items, t.flat(*e))
	}
	switch v.Value.Kind() {
	case '{':
		return "{" + strings.Join(items, t.comma) + "}"
	case '[':
		return "[" + strings.Join(items, t.comma) + "]"
	}
	return string(v.Value.(hujson.Literal))
}
