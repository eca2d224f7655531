package validate

import (
	"maps"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/text"
)

// shorten cuts a text to about most bytes, in whole characters, and makes one line of it.
func shorten(s string, most int) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(text.Clip(s, most), "\uFFFD")), " ")
}

// quote is a text as JSON, cut to about most bytes.
func quote(s string, most int) string {
	return encode(text.Clip(s, most))
}

// encode is a small value as JSON.
func encode(v any) string {
	encoded, err := text.JSON(v)
	if err != nil {
		return "null"
	}
	return string(encoded)
}

// brief is a value as JSON, cut to about most bytes; it looks at no more of the value than it shows.
func brief(v any, most int) string {
	var b strings.Builder
	writeBrief(&b, v, most)
	if b.Len() > most {
		return shorten(b.String(), most)
	}
	return b.String()
}

func writeBrief(b *strings.Builder, v any, most int) {
	if b.Len() > most {
		return
	}
	switch v := v.(type) {
	case string:
		b.WriteString(quote(v, most-b.Len()))
	case map[string]any:
		b.WriteByte('{')
		for i, name := range firstNames(v, most) {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(quote(name, maxShownName) + ":")
			writeBrief(b, v[name], most)
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, item := range v[:min(len(v), most)] {
			if i > 0 {
				b.WriteByte(',')
			}
			writeBrief(b, item, most)
		}
		b.WriteByte(']')
	default:
		b.WriteString(encode(v))
	}
}

// firstNames are the names of an object in the alphabet's order, at most n.
func firstNames(object map[string]any, n int) []string {
	names := slices.Sorted(maps.Keys(object))
	return names[:min(len(names), n)]
}
