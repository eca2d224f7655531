package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/wire"
)

// Flaw is a fault of a tool that makes clients refuse the whole list with the tool.
type Flaw struct {
	Path   string // a JSON Pointer into the tool
	Why    string // a phrase: "title is null"
	Legacy bool   // only clients of the revisions before 2026-07-28 refuse it
}

func (f Flaw) String() string {
	if f.Legacy {
		return f.Why + " (legacy clients)"
	}
	return f.Why
}

// maxMendDepth limits how deep a tool may nest. Rust's serde reads 128 levels of a message, Python's pydantic 200,
// and the TypeScript SDK 2 overflows its stack between 1,000 and 2,000.
const maxMendDepth = 100

// maxFlaws bounds the flaws that are reported for one tool. All flaws are mended.
const maxFlaws = 20

// Mend returns a tool in a form that clients of one family of revisions can read, and the flaws that it mended. Only
// this function decides this. It leaves out optional members that have another type than in the protocol, null among
// them. For legacy clients it also leaves out an outputSchema that they cannot express or compile. It replaces half
// characters and numbers that no double can hold.
//
// A tool without a flaw is returned unchanged. If clients cannot read the tool at all, the result is nil. tool must
// be valid JSON, an object without repeated keys.
//
// The flaws were observed with the TypeScript SDK 1.32 and 2.4, which use the schemas of the specification.
func Mend(tool json.RawMessage, legacy bool) (mended json.RawMessage, flaws []Flaw) {
	m := mender{legacy: legacy}
	mended = wire.WithoutLoneSurrogates(tool)
	if !bytes.Equal(mended, tool) {
		m.flaw("", "it has half a character (a lone surrogate)", false)
	}
	finite, depth := wire.Finite(mended)
	if !bytes.Equal(finite, mended) {
		m.flaw("", "it has a number beyond 1.8e308", false)
	}
	if depth > maxMendDepth {
		m.flaw("", fmt.Sprintf("it nests %d levels deep, more than %d", depth, maxMendDepth), false)
		return nil, m.flaws
	}
	return m.mapMembers("", finite, m.member), m.flaws
}

type mender struct {
	legacy bool
	flaws  []Flaw
}

func (m *mender) flaw(path, why string, legacy bool) {
	if len(m.flaws) < maxFlaws {
		m.flaws = append(m.flaws, Flaw{path, why, legacy})
	}
}

// visitor returns the replacement of v, or nil to leave v out. An element has the path of its array.
type visitor func(path string, v json.RawMessage) json.RawMessage

// mapMembers returns an object or an array with the values that visit returns.
func (m *mender) mapMembers(path string, v json.RawMessage, visit visitor) json.RawMessage {
	pathOf, noun := func(key string) string { return path + "/" + text.PointerStep(key) }, "members"
	if v[0] == '[' {
		pathOf, noun = func(string) string { return path }, "elements"
	}
	out, err := wire.MapParts(v, func(key string, v json.RawMessage) json.RawMessage { return visit(pathOf(key), v) })
	if err != nil {
		m.flaw(path, strings.TrimSpace(nameOf(path)+" has too many "+noun), false)
		return nil
	}
	return out
}

// kinds lists the types of the members that the protocol defines, by the first byte of their values.
var kinds = map[string]string{
	"/title": `"`, "/description": `"`, "/icons": "[", "/annotations": "{", "/_meta": "{", "/execution": "{",
	"/outputSchema": "{", "/inputSchema": "{",
	"/annotations/title": `"`, "/annotations/readOnlyHint": "tf", "/annotations/destructiveHint": "tf",
	"/annotations/idempotentHint": "tf", "/annotations/openWorldHint": "tf", "/execution/taskSupport": `"`,
	"/icons/src": `"`, "/icons/mimeType": `"`, "/icons/sizes": "[", "/icons/theme": `"`,
	"/inputSchema/$schema": `"`, "/inputSchema/properties": "{", "/inputSchema/required": "[",
	"/outputSchema/$schema": `"`, "/outputSchema/properties": "{", "/outputSchema/required": "[",
}

// memberValues lists the allowed values of members with a fixed set of values.
var memberValues = map[string][]string{
	"/execution/taskSupport": {"required", "optional", "forbidden"},
	"/icons/theme":           {"light", "dark"},
}

// member returns v, mended, or nil if the protocol requires another value there.
func (m *mender) member(path string, v json.RawMessage) json.RawMessage {
	isWord := func(word string) bool { value, _ := wire.Unquote(v); return value == word }
	switch kind, choice := kinds[path], memberValues[path]; {
	case kind != "" && v[0] == 'n':
		m.flaw(path, nameOf(path)+" is null", false)
		return nil
	case kind != "" && strings.IndexByte(kind, v[0]) < 0:
		m.flaw(path, nameOf(path)+" is of a wrong type: "+Printable(string(v), 60), false)
		return nil
	case choice != nil && !slices.ContainsFunc(choice, isWord):
		m.flaw(path, nameOf(path)+" is none of "+strings.Join(choice, ", ")+": "+Printable(string(v), 60), false)
		return nil
	}
	switch path {
	case "/annotations", "/execution", "/inputSchema":
		return m.mapMembers(path, v, m.member)
	case "/outputSchema":
		return m.output(path, v)
	case "/icons":
		return m.mapMembers(path, v, m.icon)
	case "/icons/sizes", "/inputSchema/required", "/outputSchema/required":
		return m.mapMembers(path, v, m.text)
	case "/inputSchema/properties", "/outputSchema/properties":
		return m.mapMembers(path, v, m.property)
	}
	return v
}

func (m *mender) icon(path string, v json.RawMessage) json.RawMessage {
	if src, ok := LookupString(v, "src"); !ok || src == "" {
		m.flaw(path, "an icon has no src", false)
		return nil
	}
	return m.mapMembers(path, v, m.member)
}

// text returns an element that has to be a string, or nil if it is not.
func (m *mender) text(path string, v json.RawMessage) json.RawMessage {
	if v[0] == '"' {
		return v
	}
	m.flaw(path, nameOf(path)+" names "+Printable(string(v), 60), false)
	return nil
}

// property returns the schema of a property. For legacy clients it replaces true and false by objects with the same
// meaning, because the TypeScript SDK 1 accepts only objects.
func (m *mender) property(path string, v json.RawMessage) json.RawMessage {
	switch v[0] {
	case '{', '[':
		return v
	case 't', 'f':
		if !m.legacy {
			return v
		}
		m.flaw(path, string(v)+" stands for a property's schema", true)
		if v[0] == 'f' {
			return json.RawMessage(`{"not":{}}`)
		}
	default:
		m.flaw(path, Printable(string(v), 60)+" stands for a property's schema", false)
	}
	return json.RawMessage(`{}`)
}

// output returns an outputSchema. Before 2026-07-28 its root must be of type "object". The TypeScript SDK 1 compiles
// every outputSchema of a list when it reads the list (SEP-2106).
func (m *mender) output(path string, v json.RawMessage) json.RawMessage {
	v = m.mapMembers(path, v, m.member)
	if v == nil || !m.legacy {
		return v
	}
	if typ, _ := LookupString(v, "type"); typ != "object" {
		m.flaw(path, `outputSchema is not of type "object"`, true)
		return nil
	}
	if why := uncompilable(v); why != "" {
		m.flaw(path, "outputSchema cannot be compiled: "+why, true)
		return nil
	}
	return v
}

// MendResult returns the result of a tool in a form that clients can read, or nil if the result needs no change.
// Missing content becomes empty content. Members with another type than in the protocol are left out. So are optional
// members of content blocks that are null. For legacy clients, a structuredContent that is not an object is left out
// (SEP-2106). If the result has no other content, its JSON becomes a text. members are the members of raw.
func MendResult(raw json.RawMessage, members []wire.Member, legacy bool) json.RawMessage {
	var edits []wire.Edit
	var content, dropped json.RawMessage
	noContent := true // without content or a replacement for it
	valid := wire.WithoutLoneSurrogates(raw)
	for i := range members {
		switch m := &members[i]; m.Key {
		case "content":
			noContent = false
			content = m.Value
			if content[0] == 'n' {
				content = nil
				edits = append(edits, wire.Edit{Key: m.Key, Value: json.RawMessage("[]")})
			} else if content[0] == '[' && m.Null {
				if to, err := wire.MapParts(content, withoutNulls); err == nil && &to[0] != &content[0] {
					edits = append(edits, wire.Edit{Key: m.Key, Value: wire.WithoutLoneSurrogates(to)})
				}
			}
		case "structuredContent":
			if legacy && m.Value[0] != '{' {
				dropped = m.Value
				edits = append(edits, wire.Edit{Key: m.Key})
			}
		case "task", "toolResult": // 2025-11-25 and 2024-10-07
			noContent = false
		case "resultType":
			noContent = noContent && string(m.Value) == `"complete"`
		case "isError":
			if m.Value[0] != 't' && m.Value[0] != 'f' {
				edits = append(edits, wire.Edit{Key: m.Key})
			}
		case "_meta":
			if m.Value[0] != '{' {
				edits = append(edits, wire.Edit{Key: m.Key})
			} else if token, ok := wire.Lookup(m.Value, "progressToken"); ok && strings.IndexByte(`"-0123456789`, token[0]) < 0 {
				// With this member the TypeScript SDK 1 drops the response, and keeps waiting.
				meta, err := wire.Rewrite(m.Value, wire.Edit{Key: "progressToken"})
				if err == nil {
					edits = append(edits, wire.Edit{Key: m.Key, Value: meta})
				}
			}
		}
	}
	if noContent {
		edits = append(edits, wire.Edit{Key: "content", Value: json.RawMessage("[]")})
	}
	mended := valid
	if len(raw) == 0 || &valid[0] == &raw[0] {
		mended = nil
	}
	if edits == nil {
		return mended
	}
	if list, err := wire.Elements(content); dropped != nil && len(list) == 0 && (err == nil || content == nil) {
		block := wire.Object{}.Text("type", "text").Text("text", string(wire.WithoutLoneSurrogates(dropped))).JSON()
		edits = append(edits, wire.Edit{Key: "content", Value: slices.Concat([]byte("["), block, []byte("]"))})
	}
	out, err := wire.Rewrite(valid, edits...)
	if err != nil { // a key is repeated, so it is unknown which value counts
		return mended
	}
	return out
}

// withoutNulls returns a content block without optional members that are null.
func withoutNulls(_ string, block json.RawMessage) json.RawMessage {
	if block[0] != '{' {
		return block
	}
	out, err := wire.MapParts(block, func(key string, v json.RawMessage) json.RawMessage {
		switch key {
		case "annotations", "resource":
			if v[0] == '{' {
				return withoutNulls(key, v)
			}
		case "_meta", "title", "description", "mimeType", "size", "icons", "audience", "priority", "lastModified":
		default:
			return v
		}
		if v[0] == 'n' {
			return nil
		}
		return v
	})
	if err != nil {
		return nil
	}
	return out
}

// nameOf returns a path in the form for people: "annotations.title".
func nameOf(path string) string {
	return Printable(strings.ReplaceAll(strings.TrimPrefix(path, "/"), "/", "."), 80)
}
