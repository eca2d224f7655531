package ledger

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/wire"
)

// Change is the change of one tool between two times.
type Change struct {
	Kind string // [Come], [Gone] or [Edited]
	// Server and Tool are the id of the server and its own name for the tool. Name is the name under which the tool is
	// mounted.
	Server, Tool, Name string
	// Before and After are the Enroll entries of the tool. If the tool came or went, one of them is the zero Entry.
	Before, After Entry
	// Fields holds the differences of a changed tool, in the order of its object. It is empty if the log has only a sum of
	// one of the versions, or if one is no JSON.
	Fields []Field
}

// These are the kinds of changes.
const (
	Come   = "come"
	Gone   = "gone"
	Edited = "changed"
)

// Field is one difference between two tool objects, or two other values.
type Field struct {
	// Path is a JSON Pointer (RFC 6901): "/description", "/inputSchema/properties/path/type".
	Path string `json:"path"`
	// Before and After are the values. They are nil if there was or is none.
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
	// Words is the change of a text, word by word. It is nil for other values.
	Words []Word `json:"words,omitempty"`
}

// Word is a part of a text: words, each with the space before it.
type Word struct {
	Op   string `json:"op"` // " " if both texts have it, "-" for the earlier text, "+" for the later one
	Text string `json:"text"`
}

// Diff returns the changes of the tools between two times, given the entries of [Live] or a [Snapshot] at each. Changed
// and removed tools come first, in the order of before, then the new tools. Spaces, the order of members and the order
// of the tools are no change.
func Diff(before, after []Entry) []Change {
	now := map[toolID][]Entry{} // the later entries that are not on both sides
	for _, e := range after {
		now[e.anyConfig()] = append(now[e.anyConfig()], e)
	}
	rest := slices.DeleteFunc(slices.Clone(before), func(b Entry) bool {
		later := now[b.anyConfig()]
		i := slices.IndexFunc(later, b.Same)
		if i >= 0 {
			now[b.anyConfig()] = slices.Delete(later, i, i+1)
		}
		return i >= 0
	})
	return pairChanges(rest, after, now)
}

// pairChanges returns the changes for the tools that are left on the earlier side, then for the tools left on the later
// side.
func pairChanges(before, after []Entry, now map[toolID][]Entry) (out []Change) {
	for _, b := range before {
		later := now[b.anyConfig()]
		if len(later) == 0 {
			out = append(out, newChange(Gone, b, b, Entry{}))
			continue
		}
		c := newChange(Edited, b, b, later[0])
		if b.Capability != nil && later[0].Capability != nil {
			c.Fields = Fields(b.Capability.Wire.JSON, later[0].Capability.Wire.JSON)
		}
		out = append(out, c)
		now[b.anyConfig()] = later[1:]
	}
	for _, a := range after {
		if later := now[a.anyConfig()]; len(later) > 0 && later[0].order(a) == 0 {
			out = append(out, newChange(Come, a, Entry{}, a))
			now[a.anyConfig()] = later[1:]
		}
	}
	return out
}

// anyConfig identifies a tool independently of its server's configuration.
func (e Entry) anyConfig() toolID { return toolID{"", e.Server, e.Tool} }

func newChange(kind string, tool, before, after Entry) Change {
	return Change{Kind: kind, Server: tool.Server, Tool: tool.Tool, Name: tool.Name, Before: before, After: after}
}

// Fields returns the differences between two JSON values. It returns nil if one of them is not valid. A difference that
// is nested more than 64 levels deep is reported as a whole. At most 1,000 differences are reported.
func Fields(before, after json.RawMessage) []Field {
	if !wire.Valid(before) || !wire.Valid(after) {
		return nil
	}
	d := jsonDiff{}
	d.compare(nil, before, after)
	return d.fields
}

const (
	maxDiffDepth  = 64
	maxDiffFields = 1000
	maxDiffStep   = 1 << 10 // bytes of a step in a path; a longer name is cut
)

// jsonDiff collects the differences between two values, up to maxDiffDepth and maxDiffFields.
type jsonDiff struct{ fields []Field }

// diffPlace is the place of a value: a step from the place around it. The root is nil. Only the path of a difference is
// written, because the names of many equal values may be long.
type diffPlace struct {
	around *diffPlace
	depth  int
	name   string
}

func (p *diffPlace) inner(name string) *diffPlace {
	if p == nil {
		return &diffPlace{nil, 1, name}
	}
	return &diffPlace{p, p.depth + 1, name}
}

func (p *diffPlace) pointer() string {
	if p == nil {
		return ""
	}
	return p.around.pointer() + "/" + text.Clip(text.PointerStep(p.name), maxDiffStep)
}

func (d *jsonDiff) compare(at *diffPlace, a, b json.RawMessage) {
	isDeep := at != nil && at.depth >= maxDiffDepth
	switch {
	case bytes.Equal(a, b) || len(d.fields) == maxDiffFields:
	case !isDeep && bothBegin(a, b, '{') && d.members(at, a, b):
	case !isDeep && bothBegin(a, b, '[') && d.elements(at, a, b):
	default:
		d.value(at, a, b)
	}
}

func bothBegin(a, b json.RawMessage, first byte) bool {
	return len(a) > 0 && len(b) > 0 && a[0] == first && b[0] == first
}

func (d *jsonDiff) value(at *diffPlace, a, b json.RawMessage) {
	f := Field{Before: a, After: b}
	if bothBegin(a, b, '"') {
		oldText, _ := wire.Unquote(a)
		newText, _ := wire.Unquote(b)
		if oldText == newText {
			return
		}
		f.Words = diffWords(oldText, newText)
	}
	f.Path = at.pointer()
	d.fields = append(d.fields, f)
}

// members compares objects member by member. It reports whether it could.
func (d *jsonDiff) members(at *diffPlace, a, b json.RawMessage) bool {
	as, aErr := wire.Members(a)
	bs, bErr := wire.Members(b)
	if aErr != nil || bErr != nil || wire.Unique(as) != nil || wire.Unique(bs) != nil {
		return false
	}
	later := make(map[string]json.RawMessage, len(bs))
	for _, m := range bs {
		later[m.Key] = m.Value
	}
	for _, m := range as {
		d.compare(at.inner(m.Key), m.Value, later[m.Key])
		delete(later, m.Key)
	}
	for _, m := range bs {
		if _, isNew := later[m.Key]; isNew {
			d.compare(at.inner(m.Key), nil, m.Value)
		}
	}
	return true
}

// elements compares arrays. It skips equal values at the beginning and at the end, and compares the rest place by
// place.
func (d *jsonDiff) elements(at *diffPlace, a, b json.RawMessage) bool {
	as, aErr := wire.Elements(a)
	bs, bErr := wire.Elements(b)
	if aErr != nil || bErr != nil {
		return false
	}
	from := 0
	for from < len(as) && from < len(bs) && bytes.Equal(as[from], bs[from]) {
		from++
	}
	for len(as) > from && len(bs) > from && bytes.Equal(as[len(as)-1], bs[len(bs)-1]) {
		as, bs = as[:len(as)-1], bs[:len(bs)-1]
	}
	for i := from; i < max(len(as), len(bs)); i++ {
		var old, current json.RawMessage
		if i < len(as) {
			old = as[i]
		}
		if i < len(bs) {
			current = bs[i]
		}
		d.compare(at.inner(strconv.Itoa(i)), old, current)
	}
	return true
}
