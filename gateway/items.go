package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/indusagi/indus/control/policy"
	"github.com/indusagi/indus/gateway/internal/methods"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// itemOf returns the item that a request to a server is about. Params in which a member stands twice are refused,
// because it is unknown which of the two the server reads.
func (v *view) itemOf(ctx context.Context, server string, m interop.Message) (*item, error) {
	// A method that indus does not know needs the right to administer the server.
	it := administeredItem(server)
	if members, err := wire.Members(m.Params); len(m.Params) > 0 && err == nil {
		if err := wire.Unique(members); err != nil {
			return nil, protocol.InvalidParams(m.Method, "%v", err)
		}
	}
	row := v.gateway.table[m.Method]
	if row == nil {
		return it, nil
	}
	var err error
	switch row.Kind {
	case methods.ByTool:
		it.action, it.Kind = policy.Call, policy.Tool
		it.Name, _ = protocol.LookupString(m.Params, "name")
		it.arguments, _ = wire.Lookup(m.Params, "arguments")
	case methods.ByPrompt:
		it.action, it.Kind = policy.Get, policy.Prompt
		it.Name, err = methods.String(m, m.Params, "name")
		it.arguments, _ = wire.Lookup(m.Params, "arguments")
	case methods.ByURI:
		it.action, it.Kind = policy.Read, policy.Resource
		it.Name, err = methods.String(m, m.Params, "uri")
	case methods.ByRef:
		err = v.completedItem(m, it)
	case methods.ByTask:
		if v.transparent { // the id of the task is the server's own, which does not show the tool
			break
		}
		origin, own, failed := v.gateway.taskOwner(ctx, m)
		err = failed
		if err == nil {
			err = v.gateway.setTask(ctx, m, it, origin, own)
		}
	}
	if row.Handler == methods.FromAll || m.Method == protocol.MethodToolsList {
		it.Item, it.action, err = policy.Item{Kind: policy.Server, Server: server}, policy.List, nil
	}
	it.unlisted = v.transparent && it.Kind == policy.Tool && !v.listsTool(it.Name)
	return it, err
}

// administeredItem returns the item of a request that needs the right to administer a server.
func administeredItem(server string) *item {
	return &item{action: policy.Administer, Item: policy.Item{Kind: policy.Server, Server: server}}
}

// listsTool reports whether a transparent view lists a tool of this name, to any caller.
func (v *view) listsTool(name string) bool {
	return v.plainKind.shown.toolNamesFor("").byName[name] != nil
}

// judgedParams are the members of params that decide about a request.
var judgedParams = []string{
	"name", "arguments", "uri", "ref", "taskId", "task", "requestState", "inputResponses",
}

// checkSpelling refuses params that a server may read in another way than the policy: many servers ignore the case of
// keys.
func (x *exchange) checkSpelling() error {
	if !x.enforces() {
		return nil
	}
	var exact string
	found := wire.FindKey(x.message.Params, func(key []byte) bool {
		for _, exact = range judgedParams {
			if string(key) != exact && bytes.EqualFold(key, []byte(exact)) {
				return true
			}
		}
		return false
	})
	if found == nil { // also if the params are no object: then they name nothing
		return nil
	}
	return protocol.InvalidParams(x.message.Method, "the params have %q in another spelling: %q", exact,
		protocol.Printable(string(found), 80))
}

// completedItem sets the item of a completion/complete.
func (v *view) completedItem(m interop.Message, it *item) error {
	ref, err := readRef(m)
	if err != nil {
		return err
	}
	it.action, it.Kind, it.Name = policy.Complete, policy.Resource, ref.name
	if ref.key == "name" {
		it.Kind = policy.Prompt
		return nil
	}
	row := v.gateway.table["resources/templates/list"]
	all := v.mergedFor(v.gateway.ctx, row, listRequester{kind: v.plainKind}, false)
	it.Template = slices.Contains(all.allNames, it.Name)
	return nil
}

// completionRef is the ref of a completion/complete: to a prompt by "name", or to a resource by "uri".
type completionRef struct {
	raw       json.RawMessage
	key, name string
}

func readRef(m interop.Message) (ref completionRef, err error) {
	ref.raw, err = methods.Member(m, m.Params, "ref")
	if err != nil {
		return ref, err
	}
	kind, err := methods.String(m, ref.raw, "type")
	if err != nil {
		return ref, err
	}
	ref.key = "uri"
	if kind == "ref/prompt" {
		ref.key = "name"
	}
	ref.name, err = methods.String(m, ref.raw, ref.key)
	return ref, err
}

// unknown returns the answer to a request for an item that does not exist.
func (v *view) unknown(m interop.Message, it *item) error {
	switch it.Kind {
	case policy.Resource:
		return v.unknownURI(m, it.Name)
	case policy.Prompt:
		return protocol.InvalidParams(m.Method, "no prompt named %q is available", protocol.Printable(it.Name, 80))
	case policy.Tool:
		return protocol.InvalidParams(m.Method, "no task has this taskId: it is not available")
	}
	return protocol.MethodNotFound(m.Method)
}

// unlistedURI is unlisted for a URI.
func (v *view) unlistedURI(ctx context.Context, m interop.Message, action policy.Action, uri string) error {
	return v.unlisted(ctx, m, &item{action: action, Item: policy.Item{Kind: policy.Resource, Name: uri}})
}

// ownTask is a task of a server.
type ownTask struct {
	id   string // the server's own
	tool string // the tool whose call made the task; "": unknown
}

// taskTools remembers which tool made a task. The sealed ids of legacy tasks do not have it. The zero value is ready.
type taskTools struct {
	mu    sync.Mutex
	tools map[taskKey]string
}

type taskKey struct {
	origin serverOrigin
	id     string
}

// maxTaskTools bounds the remembered tasks.
const maxTaskTools = 10_000

func (t *taskTools) store(origin serverOrigin, own ownTask) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tools == nil || len(t.tools) >= maxTaskTools {
		t.tools = map[taskKey]string{}
	}
	t.tools[taskKey{origin, own.id}] = own.tool
}

func (t *taskTools) find(origin serverOrigin, id string) ownTask {
	t.mu.Lock()
	defer t.mu.Unlock()
	return ownTask{id, t.tools[taskKey{origin, id}]}
}

// setTask makes the item of a request about a task of it.Server the tool whose call made the task. The arguments were
// judged when the task was made.
func (g *Gateway) setTask(ctx context.Context, m interop.Message, it *item, origin serverOrigin, own ownTask) error {
	if own.tool == "" {
		own = g.taskTools.find(origin, own.id)
	}
	if x := exchangeOf(ctx); own.tool == "" && x.enforces() {
		x.hide(ctx, it, "the tool that made the task is not known any more")
		return protocol.InvalidParams(m.Method, "no task has this taskId: the tool that made it is not known any more")
	}
	it.Item, it.action, it.continues = g.PolicyItem(it.Server, own.tool), policy.Call, true
	return nil
}

// localTools are the tools of the program itself, for the clients of one class.
type localTools struct {
	toolbox.Source
	shown *shownTools

	mu       sync.Mutex
	from, to *toolbox.Snapshot // the last snapshot, and its permitted part
}

// Snapshot implements [toolbox.Source].
func (l *localTools) Snapshot(p toolbox.Principal) *toolbox.Snapshot {
	s := l.Source.Snapshot(p)
	r := l.shown.rights
	if r == nil {
		return s
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.from == s && !r.changes {
		return l.to
	}
	permitted := l.shown.permitted(s)
	shown := *s
	shown.Tools = make([]toolbox.Descriptor, 0, len(s.Tools))
	for i := range s.Tools {
		if permitted[i] {
			shown.Tools = append(shown.Tools, s.Tools[i])
		}
	}
	l.from, l.to = s, &shown
	return l.to
}

// Do implements [toolbox.Source].
func (l *localTools) Do(ctx context.Context, c toolbox.Call) (r *toolbox.Result, err error) {
	if !exchangeOf(ctx).controls() {
		return l.Source.Do(ctx, c)
	}
	find := func(_ context.Context, name string, caller toolbox.Principal) (*toolbox.Descriptor, error) {
		tools := l.Snapshot(caller).Tools
		i := slices.IndexFunc(tools, func(d toolbox.Descriptor) bool { return d.Name == name })
		if i < 0 {
			return nil, nil
		}
		return &tools[i], nil
	}
	answer, err := l.shown.gateway.admitCall(ctx, &c, find, func(ctx context.Context) (raw json.RawMessage, err error) {
		r, err = l.Source.Do(ctx, c)
		if r != nil {
			raw = r.Wire().JSON
		}
		return raw, err
	})
	if r == nil && answer != nil {
		r = questionOf(answer)
	}
	return r, err
}

// questionOf returns the result that asks the client of a call for its approval.
func questionOf(asks json.RawMessage) *toolbox.Result {
	return toolbox.WireResult(toolbox.Wire{Format: protocol.FormatModern, JSON: asks}, func(toolbox.Wire) toolbox.Decoded {
		return toolbox.Decoded{Blocks: []toolbox.Block{toolbox.Text("the call asks its client")}}
	})
}

// PolicyChanged notifies clients that their lists may have changed, because Control.Policy returns another policy.
func (g *Gateway) PolicyChanged() {
	for _, v := range g.allViews() {
		for _, list := range v.changes {
			list.Notify()
		}
	}
}
