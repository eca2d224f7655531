package protocol

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/wire"
)

// Misfit says why clients would refuse a whole list, everybody's tools, for
// this one: it is no UTF-8, or a field that the protocol knows is of another
// type. A null passes, as that is how some servers write what is not there.
func Misfit(tool, schema json.RawMessage) string {
	if !utf8.Valid(tool) {
		return "it is not UTF-8"
	}
	annotations, _ := wire.Lookup(tool, "annotations")
	for _, part := range []struct {
		in            json.RawMessage
		of, key, kind string
	}{
		{tool, "", "title", `"`}, {tool, "", "description", `"`}, {tool, "", "icons", "["},
		{tool, "", "annotations", "{"}, {tool, "", "execution", "{"}, {tool, "", "_meta", "{"},
		{annotations, "annotations.", "title", `"`},
		{annotations, "annotations.", "readOnlyHint", "tf"}, {annotations, "annotations.", "destructiveHint", "tf"},
		{annotations, "annotations.", "idempotentHint", "tf"}, {annotations, "annotations.", "openWorldHint", "tf"},
		{schema, "inputSchema.", "properties", "{"}, {schema, "inputSchema.", "required", "["},
	} {
		if v, ok := wire.Lookup(part.in, part.key); ok && v[0] != 'n' && !strings.Contains(part.kind, string(rune(v[0]))) {
			return "its " + part.of + part.key + " is of a wrong type: " + Printable(string(v), 60)
		}
	}
	return ""
}
