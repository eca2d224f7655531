package host

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/toolbox"
)

// maxKept bounds the principals whose listings are kept.
const maxKept = 16

// toolList is one snapshot as tools/list publishes it.
type toolList struct {
	snapshot *toolbox.Snapshot
	result   json.RawMessage
	headers  map[string][]protocol.ParamHeader // by published name; nil where no tool has any
}

// keptList is the listing that a principal was shown last.
type keptList struct {
	caller toolbox.Principal
	*toolList
}

// list is what p is shown now. It is rendered once for each snapshot.
func (t *toolsBackend) list(p toolbox.Principal) *toolList {
	s := t.src.Snapshot(p)
	t.mu.Lock()
	l := t.find(p, s)
	t.mu.Unlock()
	if l != nil {
		return l
	}
	rendered := t.render(s)
	t.mu.Lock()
	defer t.mu.Unlock()
	if l := t.find(p, s); l != nil {
		return l
	}
	t.keep(p, rendered)
	return rendered
}

// find is the kept listing of a snapshot, which is p's from now on. Call it
// with mu held.
func (t *toolsBackend) find(p toolbox.Principal, s *toolbox.Snapshot) *toolList {
	for i := range t.kept {
		if k := &t.kept[i]; k.snapshot == s {
			l := k.toolList
			if k.caller != p {
				t.keep(p, l)
			}
			return l
		}
	}
	return nil
}

// keep puts a listing in the place of p's last one. Call it with mu held.
func (t *toolsBackend) keep(p toolbox.Principal, l *toolList) {
	i := slices.IndexFunc(t.kept, func(k keptList) bool { return k.caller == p })
	switch {
	case i >= 0:
		t.kept[i].toolList = l
	case len(t.kept) < maxKept:
		t.kept = append(t.kept, keptList{p, l})
	default:
		t.kept = append(t.kept[:0], t.kept[1:]...)
		t.kept = append(t.kept, keptList{p, l})
	}
}

func (t *toolsBackend) render(s *toolbox.Snapshot) *toolList {
	l := &toolList{snapshot: s}
	size := 16
	for i := range s.Tools {
		size += len(s.Tools[i].Wire.JSON) + len(s.Tools[i].Schema) + len(s.Tools[i].Description) + 64
	}
	b := append(make([]byte, 0, size), `{"tools":[`...)
	seen := make(map[string]bool, len(s.Tools))
	for i := range s.Tools {
		d := &s.Tools[i]
		if seen[d.Name] {
			continue
		}
		out, schema, err := t.publish(b, d)
		if err != nil {
			if t.log != nil {
				t.log.Warn("a tool is not published", "tool", d.Name, "server", d.Server, "reason", err.Error())
			}
			continue
		}
		b = append(out, ',')
		seen[d.Name] = true
		if params, err := protocol.ParamHeaders(schema); err == nil && len(params) > 0 {
			if l.headers == nil {
				l.headers = map[string][]protocol.ParamHeader{}
			}
			l.headers[d.Name] = params
		}
	}
	if len(seen) > 0 {
		b = b[:len(b)-1]
	}
	l.result = slices.Clip(append(b, "]}"...))
	return l
}

// unpublished says why a tool is not published.
type unpublished string

func (u unpublished) Error() string { return string(u) }

// publish appends one tool to b, and gives the schema that it has there.
func (t *toolsBackend) publish(b []byte, d *toolbox.Descriptor) (out []byte, schema json.RawMessage, err error) {
	schema = d.Schema
	if t.parameters && d.Parameters != nil {
		schema = d.Parameters
	}
	if schema == nil && d.Wire.IsZero() {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	if !wire.Valid(schema) {
		return nil, nil, unpublished("its input schema is not valid JSON")
	}
	if reason := protocol.Unpublishable(schema); reason != "" {
		return nil, nil, unpublished(reason)
	}
	if !ours(d.Wire) {
		return appendLocal(b, d, schema), schema, nil
	}
	if !wire.Valid(d.Wire.JSON) {
		return nil, nil, unpublished("it is not valid JSON")
	}
	if reason := protocol.Misfit(d.Wire.JSON, schema); reason != "" {
		return nil, nil, unpublished(reason)
	}
	edits := []wire.Edit{{Key: "name", Value: wire.Quote(d.Name)}}
	if t.parameters && d.Parameters != nil {
		edits = append(edits, wire.Edit{Key: "inputSchema", Value: schema})
	}
	out, err = wire.AppendRewrite(b, d.Wire.JSON, edits...)
	return out, schema, err
}

// appendLocal appends the tool object of a tool that is no server's.
func appendLocal(b []byte, d *toolbox.Descriptor, schema json.RawMessage) []byte {
	b = append(append(b, `{"name":`...), wire.Quote(d.Name)...)
	if d.Title != "" {
		b = append(append(b, `,"title":`...), wire.Quote(d.Title)...)
	}
	if d.Description != "" {
		b = append(append(b, `,"description":`...), wire.Quote(d.Description)...)
	}
	b = append(append(b, `,"inputSchema":`...), schema...)
	if d.Output != nil {
		b = append(append(b, `,"outputSchema":`...), d.Output...)
	}
	if d.Annotations != nil {
		hints, _ := json.Marshal(d.Annotations) // booleans always can be written
		b = append(append(b, `,"annotations":`...), hints...)
	}
	return append(b, '}')
}

// ours reports whether a wire is in MCP's own grammar.
func ours(w toolbox.Wire) bool { return strings.HasPrefix(w.Format, "mcp/") }
