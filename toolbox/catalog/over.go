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

// maxCachedLists is the number of snapshots of one toolbox with a cached list. Principals may see different snapshots.
const maxCachedLists = 16

// toolset presents the tools of a toolbox as operations.
type toolset struct {
	src toolbox.Source

	mu    sync.Mutex
	lists []cachedList // the most recently used entry is the last
}

type cachedList struct {
	snapshot *toolbox.Snapshot
	list     *List
}

var _ Operations = (*toolset)(nil)

// Over returns the four tools over a toolbox: a mounted fleet of servers or a registry, for example. They follow the
// changes of src. An input goes to its tool unchanged. The tool call returns the tool's own result, byte for byte, and
// the tool's own errors.
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

// list returns the operations of a snapshot. It caches the lists of recently used snapshots.
func (t *toolset) list(s *toolbox.Snapshot) *List {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at := slices.IndexFunc(t.lists, func(cached cachedList) bool { return cached.snapshot == s }); at >= 0 {
		cached := t.lists[at]
		t.lists = append(slices.Delete(t.lists, at, at+1), cached)
		return cached.list
	}
	if len(t.lists) == maxCachedLists {
		t.lists = slices.Delete(t.lists, 0, 1)
	}
	cached := cachedList{s, NewList(operationsOf(s.Tools))}
	t.lists = append(t.lists, cached)
	return cached.list
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

// ownerInfo returns the owner's information about a tool. For a local tool it comes from the descriptor, and for an MCP
// server from its tool object. A missing value is nil.
func ownerInfo(d toolbox.Descriptor) (title, output, annotations json.RawMessage) {
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

// kindOf returns the kind of a tool according to its annotations, which are hints of its owner.
func kindOf(d toolbox.Descriptor) string {
	_, _, annotations := ownerInfo(d)
	for _, k := range []struct{ hint, kind string }{{"readOnlyHint", "read-only"}, {"destructiveHint", "destructive"}} {
		if v, _ := wire.Lookup(annotations, k.hint); string(v) == "true" {
			return k.kind
		}
	}
	return ""
}

// toolSpec returns everything known about a tool. Its schema is the owner's schema.
func toolSpec(d toolbox.Descriptor) json.RawMessage {
	title, output, annotations := ownerInfo(d)
	spec := newSpec(d.Name, d.Description, kindOf(d), d.Schema)
	spec = withMember(withMember(spec, "title", title), "output", output)
	return withMember(spec, "annotations", annotations).JSON()
}

// newSpec returns an object with the members that every operation has.
func newSpec(name, description, kind string, input json.RawMessage) wire.Object {
	spec := wire.Object{}.Raw("name", wire.Quote(name)).Text("description", description).Text("kind", kind)
	return withMember(spec, "input", input)
}

// withMember returns the object with one more member, unless raw is nil. raw may be any bytes.
func withMember(object wire.Object, key string, raw json.RawMessage) wire.Object {
	if raw == nil {
		return object
	}
	return object.Raw(key, jsonValue(raw))
}
