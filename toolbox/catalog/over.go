package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/toolbox"
)

// maxKept is of how many snapshots of one toolbox the list is kept: principals may see
// different ones.
const maxKept = 16

// toolset is the tools of a toolbox as operations.
type toolset struct {
	src toolbox.Source

	mu   sync.Mutex
	kept []keptList // the one that was asked for last is the last
}

type keptList struct {
	of   *toolbox.Snapshot
	list *List
}

var _ Operations = (*toolset)(nil)

// Over is the four tools over a toolbox: a mounted fleet of servers, a registry. It is live,
// as src is. An input goes to its tool as it came, and what tool call gives is
// the tool's own result, byte for byte, as are its errors.
func Over(src toolbox.Source, o *Options) toolbox.Source {
	return New(&toolset{src: src}, o)
}

// View implements [Operations].
func (t *toolset) View(_ context.Context, caller toolbox.Principal) (View, error) {
	s := t.src.Snapshot(caller)
	if s == nil {
		return View{}, nil
	}
	return View{List: t.list(s), Pending: s.Pending, Down: s.Down}, nil
}

// list is the operations of a snapshot. It is made once for each that is seen again soon.
func (t *toolset) list(s *toolbox.Snapshot) *List {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at := slices.IndexFunc(t.kept, func(k keptList) bool { return k.of == s }); at >= 0 {
		k := t.kept[at]
		t.kept = append(slices.Delete(t.kept, at, at+1), k)
		return k.list
	}
	if len(t.kept) == maxKept {
		t.kept = slices.Delete(t.kept, 0, 1)
	}
	k := keptList{s, NewList(operationsOf(s.Tools))}
	t.kept = append(t.kept, k)
	return k.list
}

func operationsOf(tools []toolbox.Descriptor) []Operation {
	list := make([]Operation, len(tools))
	for i, d := range tools {
		list[i] = Operation{
			Name: d.Name, Description: d.Description, Input: d.Schema, Kind: kindOf(d),
			Spec: func() json.RawMessage { return toolSpec(d) },
		}
	}
	return list
}

// Call implements [Operations].
func (t *toolset) Call(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
	r, err := t.src.Do(ctx, c)
	if unknown, ok := errors.AsType[*toolbox.UnknownTool](err); ok && unknown.Name == c.Name {
		return nil, &Error{Code: NotFound}
	}
	return r, err
}

// facts are what a tool's owner says of it: a local tool in its descriptor, an MCP server in its tool object. nil: nothing.
func facts(d toolbox.Descriptor) (title, output, annotations json.RawMessage) {
	if strings.HasPrefix(d.Wire.Format, "mcp/") {
		title, _ = wire.Lookup(d.Wire.JSON, "title")
		output, _ = wire.Lookup(d.Wire.JSON, "outputSchema")
		annotations, _ = wire.Lookup(d.Wire.JSON, "annotations")
		return title, output, annotations
	}
	if d.Title != "" {
		title = wire.Quote(d.Title)
	}
	if d.Annotations != nil {
		annotations = encodeJSON(d.Annotations)
	}
	return title, d.Output, annotations
}

// kindOf is what a tool's annotations say of it. They are hints of its owner.
func kindOf(d toolbox.Descriptor) string {
	_, _, annotations := facts(d)
	for _, k := range []struct{ hint, kind string }{{"readOnlyHint", "read-only"}, {"destructiveHint", "destructive"}} {
		if v, _ := wire.Lookup(annotations, k.hint); string(v) == "true" {
			return k.kind
		}
	}
	return ""
}

// toolSpec is all that is known of a tool. Its schema is the owner's.
func toolSpec(d toolbox.Descriptor) json.RawMessage {
	spec := newSpec(d.Name, d.Description, kindOf(d), d.Schema)
	title, output, annotations := facts(d)
	for _, m := range []struct {
		key   string
		value json.RawMessage
	}{{"title", title}, {"output", output}, {"annotations", annotations}} {
		if m.value != nil {
			spec = appendMember(spec, m.key, m.value)
		}
	}
	return spec
}

// newSpec is an object of what every operation has.
func newSpec(name, description, kind string, input json.RawMessage) json.RawMessage {
	spec := appendMember(json.RawMessage("{}"), "name", wire.Quote(name))
	if description != "" {
		spec = appendMember(spec, "description", wire.Quote(description))
	}
	if kind != "" {
		spec = appendMember(spec, "kind", wire.Quote(kind))
	}
	if input != nil {
		spec = appendMember(spec, "input", input)
	}
	return spec
}

// appendMember is an object with one more member, whatever bytes raw is.
func appendMember(object json.RawMessage, key string, raw json.RawMessage) json.RawMessage {
	return appendValue(object, key, jsonValue(raw))
}

// appendValue is appendMember of what is known to be a JSON value.
func appendValue(object json.RawMessage, key string, value json.RawMessage) json.RawMessage {
	object = slices.Grow(object, len(key)+len(value)+8)
	object = object[:len(object)-1]
	if len(object) > 1 {
		object = append(object, ',')
	}
	object = append(append(object, wire.Quote(key)...), ':')
	return append(append(object, value...), '}')
}
