package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/indusagi/indus/gateway/internal/definition"
	"github.com/indusagi/indus/gateway/internal/methods"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// itemOf returns the item that a request to a server is about. Params in which a member stands twice are refused,
// because it is unknown which of the two the server reads.
func (v *view) itemOf(ctx context.Context, server string, m interop.Message) (*Access, error) {
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
		it.Action, it.Kind = ActionCall, KindTool
		it.Name, _ = protocol.LookupString(m.Params, "name")
		it.Arguments, _ = wire.Lookup(m.Params, "arguments")
	case methods.ByPrompt:
		it.Action, it.Kind = ActionGet, KindPrompt
		it.Name, err = methods.String(m, m.Params, "name")
		it.Arguments, _ = wire.Lookup(m.Params, "arguments")
	case methods.ByURI:
		it.Action, it.Kind = ActionRead, KindResource
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
		it.Item, it.Action, err = Item{Kind: KindServer, Server: server}, ActionList, nil
	}
	it.Unlisted = v.transparent && it.Kind == KindTool && !v.listsTool(it.Name)
	return it, err
}

// administeredItem returns the item of a request that needs the right to administer a server.
func administeredItem(server string) *Access {
	return &Access{Action: ActionAdminister, Item: Item{Kind: KindServer, Server: server}}
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
	found := wire.FindKey(x.Message.Params, func(key []byte) bool {
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
	return protocol.InvalidParams(x.Message.Method, "the params have %q in another spelling: %q", exact,
		protocol.Printable(string(found), 80))
}

// completedItem sets the item of a completion/complete.
func (v *view) completedItem(m interop.Message, it *Access) error {
	ref, err := readRef(m)
	if err != nil {
		return err
	}
	it.Action, it.Kind, it.Name = ActionComplete, KindResource, ref.name
	if ref.key == "name" {
		it.Kind = KindPrompt
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
func (v *view) unknown(m interop.Message, it *Access) error {
	switch it.Kind {
	case KindResource:
		return v.unknownURI(m, it.Name)
	case KindPrompt:
		return protocol.InvalidParams(m.Method, "no prompt named %q is available", protocol.Printable(it.Name, 80))
	case KindTool:
		return protocol.InvalidParams(m.Method, "no task has this taskId: it is not available")
	}
	return protocol.MethodNotFound(m.Method)
}

// unlistedURI is unlisted for a URI.
func (v *view) unlistedURI(ctx context.Context, m interop.Message, action Action, uri string) error {
	return v.unlisted(ctx, m, &Access{Action: action, Item: Item{Kind: KindResource, Name: uri}})
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
func (g *Gateway) setTask(ctx context.Context, m interop.Message, it *Access, origin serverOrigin, own ownTask) error {
	if own.tool == "" {
		own = g.taskTools.find(origin, own.id)
	}
	if x := exchangeOf(ctx); own.tool == "" && x.enforces() {
		x.hide(ctx, it, "the tool that made the task is not known any more")
		return protocol.InvalidParams(m.Method, "no task has this taskId: the tool that made it is not known any more")
	}
	it.Item, it.Action, it.Continues = g.ToolItem(it.Server, own.tool), ActionCall, true
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
	if l.from == s && isLasting(r) {
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
func (l *localTools) Do(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
	x := exchangeOf(ctx)
	if !x.guarded() {
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
	a, reason, err := x.callAccess(ctx, &c, find)
	if err != nil {
		return nil, err
	}
	ctx, refused := x.admit(ctx, a)
	if refused != nil {
		answer, err := refused.toolAnswer(c.Name)
		x.callEnded(ctx, a, reason, answer, err)
		if answer == nil {
			return nil, err
		}
		return questionOf(answer), err
	}
	r, err := l.Source.Do(ctx, c)
	var raw json.RawMessage
	if r != nil {
		raw = r.Wire().JSON
	}
	x.callEnded(ctx, a, reason, raw, err)
	return r, err
}

// questionOf returns the result that asks the client of a call for its approval.
func questionOf(asks json.RawMessage) *toolbox.Result {
	return toolbox.WireResult(toolbox.Wire{Format: protocol.FormatModern, JSON: asks}, func(toolbox.Wire) toolbox.Decoded {
		return toolbox.Decoded{Blocks: []toolbox.Block{toolbox.Text("the call asks its client")}}
	})
}

// ListsChanged notifies clients that their lists may have changed, because Options.Guard decides in another way.
func (g *Gateway) ListsChanged() {
	for _, v := range g.allViews() {
		for _, list := range v.changes {
			list.Notify()
		}
	}
}

// isLasting reports whether the lists of callers with these rights do not change with time.
func isLasting(r Rights) bool {
	if r == nil {
		return true
	}
	_, lasting := r.Class()
	return lasting
}

// listsItem reports whether a list shows an item.
func listsItem(r Rights, it Item) bool { return r == nil || r.Lists([]Item{it})[0] }

// ToolItem returns a tool of a server as a guard sees it: with its definition and its changes. A tool that is not
// listed to any kind of client has only its name.
func (g *Gateway) ToolItem(server, tool string) Item {
	s := g.attached.Snapshot("")
	for _, kind := range append([]*toolbox.Snapshot{s}, s.Kinds...) {
		for i := range kind.Tools {
			if d := &kind.Tools[i]; d.Server == server && d.Tool == tool {
				return g.toolItem(d)
			}
		}
	}
	return Item{Kind: KindTool, Server: server, Name: tool}
}

// toolItem returns a tool as an item.
func (g *Gateway) toolItem(d *toolbox.Descriptor) Item {
	return Item{
		Kind: KindTool, Server: d.Server, Name: d.Tool, Tool: d,
		Changed: (*g.alteredTools())[ownName{d.Server, d.Tool}],
	}
}

// alteredTools holds the tools that differ from their approved version.
type alteredTools map[ownName]bool

// alteredAge is how long a collected set of altered tools is used.
const alteredAge = time.Second

// alteredTools returns the tools that differ from their approved version. As long as these are the same tools, it
// returns the same pointer.
func (g *Gateway) alteredTools() *alteredTools {
	now := g.attached.Snapshot("")
	g.alteredMu.Lock()
	defer g.alteredMu.Unlock()
	if g.altered != nil && g.alteredIn == now && time.Since(g.alteredAt) < alteredAge {
		return g.altered
	}
	fresh := alteredTools{}
	for _, e := range g.attached.Changed() {
		fresh[ownName{e.Server, e.Tool}] = true
	}
	if g.altered == nil || !maps.Equal(*g.altered, fresh) {
		g.altered = &fresh
	}
	g.alteredAt, g.alteredIn = time.Now(), now
	return g.altered
}

// partItem returns a prompt, a resource or a template as an item.
func partItem(row *methods.Row, kind methods.NameKind, owner ownName) Item {
	it := Item{Kind: KindResource, Server: owner.server, Name: owner.own}
	switch {
	case kind == methods.ByPrompt:
		it.Kind = KindPrompt
	case row != nil && row.ID == "uriTemplate":
		it.Template = true
	}
	return it
}

// Lists reports whether the view of everything lists a tool or a prompt of a server to any caller, by the cached lists.
func (g *Gateway) Lists(it Item) bool {
	v := g.mainView
	if it.Kind == KindTool {
		return v.listsTool(v.scope.displayName(it.Server, it.Name))
	}
	all := v.mergedFor(g.ctx, g.table["prompts/list"], listRequester{kind: v.plainKind}, false)
	return all.byName[v.scope.displayName(it.Server, it.Name)] == ownName{it.Server, it.Name}
}

// Program identifies the program of a server, and returns what it runs, for a person. Both are "" if there is no such
// server.
func (g *Gateway) Program(server string) (origin, shown string) {
	if s, ok := g.attached.Fleet.Server(server); ok {
		return definition.Origin(s), definition.Program(s)
	}
	return "", ""
}

// Seal seals data of the guard for a client, which holds it until Unseal.
func (g *Gateway) Seal(caller toolbox.Principal, data string) string {
	return g.opts.Host.Keys.Seal(sealed.Token{
		Kind: sealed.Approval, Principal: string(caller), Data: []byte(data),
	})
}

// Unseal returns the data that Seal sealed for the caller.
func (g *Gateway) Unseal(caller toolbox.Principal, token string) (data string, ok bool) {
	if token == "" {
		return "", false
	}
	t, err := g.opts.Host.Keys.Open(token, sealed.Want{Kind: sealed.Approval, Principal: string(caller)})
	return string(t.Data), err == nil
}
