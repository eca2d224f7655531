package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/indusagi/indus/gateway/internal/definition"
	"github.com/indusagi/indus/gateway/internal/methods"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
)

// shownTools holds the tools of a view, under their names in the view, and with their pages in the form of the view.
type shownTools struct {
	*view
	// models reports whether the tools are for models only. Tools for apps alone are then left out (SEP-1865).
	models   bool
	declared interop.Declared // by the clients that see these tools
	rights   Rights           // of these clients; nil: all

	selectMu sync.Mutex
	last     *toolNames
	changes  int // how often the list changed
}

// toolNames holds the names of the tools of one snapshot.
type toolNames struct {
	source  *toolbox.Snapshot // the snapshot of all servers
	altered *alteredTools     // nil: there is no policy
	visible *toolbox.Snapshot
	byName  map[string]*toolbox.Descriptor // tools of of.Tools, by their names in the view
	apps    map[string]bool                // tools for apps alone, if they are left out
	pages   map[ownName]bool               // pages that tools of the view name
}

var _ toolbox.Source = (*shownTools)(nil)

// Snapshot implements [toolbox.Source].
func (t *shownTools) Snapshot(p toolbox.Principal) *toolbox.Snapshot {
	return t.toolNamesFor(p).visible
}

// Watch implements [toolbox.Source].
func (t *shownTools) Watch(changed func()) (stop func()) { return t.gateway.attached.Watch(changed) }

func (t *shownTools) toolNamesFor(p toolbox.Principal) *toolNames {
	s := t.gateway.attached.Snapshot(p).For(t.declared)
	t.selectMu.Lock()
	defer t.selectMu.Unlock()
	var altered *alteredTools
	if t.rights != nil {
		altered = t.gateway.alteredTools()
	}
	if t.last == nil || t.last.source != s || t.last.altered != altered || !isLasting(t.rights) {
		was := t.last
		t.last = t.selectTools(s)
		t.last.altered = altered
		if was != nil && !slices.EqualFunc(was.visible.Tools, t.last.visible.Tools, toolbox.Descriptor.Equal) {
			t.changes++
		}
	}
	return t.last
}

// changed returns how often the list of the view changed.
func (t *shownTools) changed() int {
	t.toolNamesFor("")
	t.selectMu.Lock()
	defer t.selectMu.Unlock()
	return t.changes
}

// selectTools makes the snapshot of the view.
func (t *shownTools) selectTools(s *toolbox.Snapshot) *toolNames {
	n := &toolNames{
		source:  s,
		visible: &toolbox.Snapshot{Version: s.Version, Tools: make([]toolbox.Descriptor, 0, len(s.Tools))},
		byName:  make(map[string]*toolbox.Descriptor, len(s.Tools)),
		apps:    map[string]bool{},
		pages:   map[ownName]bool{},
	}
	if t.last != nil {
		for name := range t.last.apps { // tools of a server that is down and therefore withdrawn
			if s.DownOwner(name) != "" {
				n.apps[name] = true
			}
		}
	}
	same := t.scope.server == ""
	permitted := t.permitted(s)
	for i := range s.Tools {
		if !permitted[i] {
			same = false
			continue
		}
		d := s.Tools[i]
		name, ok := t.viewName(&d)
		_, taken := n.byName[name]
		var row json.RawMessage
		if ok {
			row = t.withPageLinks(&d, n.pages)
		}
		if ok && !taken && t.models && !definition.IsForModels(d.Wire.JSON) {
			n.apps[name], taken = true, true
		}
		if !ok || taken {
			same = false
			continue
		}
		n.byName[name] = &s.Tools[i]
		d.Name = name
		if row != nil {
			d.Wire.JSON, same = row, false
		}
		n.visible.Tools = append(n.visible.Tools, d)
	}
	if same && !slices.ContainsFunc(s.Pending, t.excludes) {
		n.visible = s
		return n
	}
	n.visible.Pending = slices.DeleteFunc(slices.Clone(s.Pending), t.excludes)
	n.visible.Owners = slices.DeleteFunc(slices.Clone(s.Owners), func(o toolbox.Owner) bool {
		isOfServer := func(d toolbox.Descriptor) bool { return d.Server == o.Server }
		return t.excludes(o.Server) || t.isPartial() && !slices.ContainsFunc(n.visible.Tools, isOfServer)
	})
	if t.scope.server == "" {
		n.visible.Held = slices.DeleteFunc(slices.Clone(s.Held), func(name string) bool { return !t.mayOwn(name) })
	}
	for _, d := range s.Down {
		if t.scope.mayContain(d.Server, methods.ByTool) {
			owns := d.Owns
			d.Owns = func(name string) bool {
				return t.scope.admits(d.Server, methods.ByTool, name) && owns(t.qualified(name))
			}
			n.visible.Down = append(n.visible.Down, d)
		}
	}
	return n
}

// permitted reports for each tool whether the policy permits some call of it.
func (t *shownTools) permitted(s *toolbox.Snapshot) []bool {
	if t.rights == nil {
		return slices.Repeat([]bool{true}, len(s.Tools))
	}
	items := make([]Item, len(s.Tools))
	for i := range s.Tools {
		items[i] = t.gateway.toolItem(&s.Tools[i])
	}
	return t.rights.Lists(items)
}

func (t *shownTools) excludes(server string) bool { return !t.scope.mayContain(server, methods.ByTool) }

// viewName returns the name of a tool in the view, which a rule may have changed. False means that the view lacks the
// tool.
func (t *shownTools) viewName(d *toolbox.Descriptor) (string, bool) {
	if t.scope.server == "" {
		return d.Name, t.scope.admits(d.Server, methods.ByTool, d.Name)
	}
	name := d.Tool
	if e, err := t.gateway.attached.Fleet.Endpoint(d.Server, ""); err == nil {
		if renamed, ok := e.Server().Tools.Rename[name]; ok {
			name = renamed
		}
	}
	return name, t.scope.admits(d.Server, methods.ByTool, name)
}

// qualified returns the qualified name of the tool that the view shows as name.
func (t *shownTools) qualified(name string) string {
	if server := t.scope.server; server != "" {
		return config.QualifiedName(server, name)
	}
	return name
}

// withPageLinks returns the row of a tool with its page in the form of the view, and adds it to pages. Nil means no
// change.
func (t *shownTools) withPageLinks(d *toolbox.Descriptor, pages map[ownName]bool) json.RawMessage {
	if t.scope.server != "" {
		return nil
	}
	row := d.Wire.JSON
	for _, path := range methods.AppLinks() {
		row = wire.EditStrings(row, path, func(uri string) string {
			if !protocol.IsOwned(uri) {
				return uri
			}
			pages[ownName{d.Server, uri}] = strings.HasPrefix(uri, "ui://")
			return protocol.OwnedURI(d.Server, uri)
		})
	}
	if bytes.Equal(row, d.Wire.JSON) {
		return nil
	}
	return row
}

// Do implements [toolbox.Source], for tools of the program that call these tools.
func (t *shownTools) Do(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
	m := interop.Message{
		Method: protocol.MethodToolsCall, Params: c.Wire.JSON, Tool: c.Name, Caller: c.Caller, Progress: c.Progress,
	}
	raw, err := t.call(ctx, m, &c)
	if err != nil {
		return nil, err
	}
	if kind, _ := protocol.LookupString(raw, "resultType"); kind == "input_required" {
		return questionOf(raw), nil
	}
	return t.gateway.attached.Fleet.Result(m, raw), nil
}

// call takes a call of a tool through its steps: find the tool, admit the call, send it, end it. If the tool has
// another definition when the connection is there, the guard decides again, by this definition.
func (t *shownTools) call(ctx context.Context, m interop.Message, c *toolbox.Call) (json.RawMessage, error) {
	if t.models {
		if err := t.checkModels(ctx, c); err != nil {
			return nil, err
		}
	}
	x := exchangeOf(ctx)
	if !x.guarded() {
		m, err := t.address(ctx, m, c)
		if err != nil {
			return nil, err
		}
		raw, err := t.gateway.send(ctx, nil, "", m)
		return t.answer(ctx, m, c.Name, raw, err)
	}
	a, reason, err := x.callAccess(ctx, c, t.findTool)
	if err != nil {
		return nil, err
	}
	ctx, refused := x.admit(ctx, a)
	judged := ctx
	if x.mode >= Reports && a.Known {
		a.judged = judgedContext{ctx, a}
		judged = &a.judged
	}
	for n := 0; refused == nil; n++ {
		var raw json.RawMessage
		sent, err := t.address(judged, m, c)
		if err == nil {
			raw, err = t.gateway.send(judged, a, "", sent)
			raw, err = t.answer(judged, sent, c.Name, raw, err)
		}
		if !errors.Is(err, errRedefined) || n == maxRedefined {
			x.callEnded(ctx, a, reason, raw, err)
			return raw, err
		}
		_, refused = x.admitAgain(ctx, a)
	}
	raw, err := refused.toolAnswer(c.Name)
	x.callEnded(ctx, a, reason, raw, err)
	return raw, err
}

// address returns the message for the server of a tool, after the tool is listed. A call that no request caused has no
// params yet.
func (t *shownTools) address(ctx context.Context, m interop.Message, c *toolbox.Call) (interop.Message, error) {
	m.Tool = c.Name
	if !t.scope.everything {
		if d, ok := t.toolNamesFor(m.Caller).byName[c.Name]; ok {
			m.Tool = d.Name
		} else {
			m.Tool = t.qualified(c.Name)
			if !t.mayOwn(m.Tool) { // its server may be down
				return m, &toolbox.UnknownTool{Name: c.Name}
			}
		}
	}
	if m.Params == nil {
		var err error
		if m.Params, err = protocol.CallParams(c.Name, c.Input); err != nil {
			return m, &interop.RPCError{Code: interop.CodeInvalidParams, Message: err.Error()}
		}
	}
	return m, t.gateway.attached.Await(ctx, m.Tool)
}

// answer returns the answer of a server for the caller, with links in the form of the view.
func (t *shownTools) answer(
	ctx context.Context, m interop.Message, name string, raw json.RawMessage, err error,
) (json.RawMessage, error) {
	if err != nil {
		if unknown, ok := errors.AsType[*toolbox.UnknownTool](err); ok && unknown.Name == m.Tool {
			return nil, &toolbox.UnknownTool{Name: name}
		}
		return nil, t.gateway.signInFault(ctx, m, err)
	}
	row := t.gateway.table[protocol.MethodToolsCall]
	if t.scope.server != "" || !t.mayLink(row, raw) {
		return raw, nil
	}
	if d, ok := t.toolNamesFor(m.Caller).byName[name]; ok {
		return t.rewriteURIs(row, ownName{server: d.Server}, "", requesterOf(ctx), raw), nil
	}
	return raw, nil
}

// findTool returns the tool of a call, or nil if it is not listed for the caller. If a guard enforces, it waits until
// the tool is listed: only a listed tool can be judged. If the server of the tool is down, it returns the fault of the
// server.
func (t *shownTools) findTool(
	ctx context.Context, name string, caller toolbox.Principal,
) (*toolbox.Descriptor, error) {
	d := t.toolNamesFor(caller).byName[name]
	if d != nil || !exchangeOf(ctx).enforces() {
		return d, nil
	}
	qualified := t.qualified(name)
	if err := t.gateway.awaitTool(ctx, qualified); err != nil && ctx.Err() != nil {
		return nil, err
	}
	names := t.toolNamesFor(caller)
	d = names.byName[name]
	if d != nil {
		return d, nil
	}
	server := names.visible.DownOwner(name)
	own, _ := strings.CutPrefix(qualified, config.Server{ID: server}.Prefixes()[0])
	if server == "" || !listsItem(t.rights, Item{Kind: KindTool, Server: server, Name: own}) {
		return nil, nil
	}
	for _, st := range t.gateway.attached.Status() {
		if st.Server == server && st.Fault != nil {
			return nil, st.Fault
		}
	}
	return nil, nil
}

// awaitTool waits until the fleet has its servers, and then as [interop.Fleet.Await].
func (g *Gateway) awaitTool(ctx context.Context, qualified string) error {
	if err := g.attached.Wait(ctx); err != nil {
		return err
	}
	return g.attached.Fleet.Await(ctx, qualified)
}

// checkModels refuses a call of a tool for apps alone. Only a list shows that, so it waits until the tool is listed.
func (t *shownTools) checkModels(ctx context.Context, c *toolbox.Call) error {
	n := t.toolNamesFor(c.Caller)
	if !n.apps[c.Name] && n.byName[c.Name] == nil {
		if err := t.gateway.awaitTool(ctx, c.Name); err != nil {
			return err
		}
		n = t.toolNamesFor(c.Caller)
	}
	if n.apps[c.Name] {
		return &toolbox.UnknownTool{Name: c.Name}
	}
	return nil
}

// mayOwn reports whether an unlisted name may be a tool of the view's servers, and of no other server. These servers
// then decide about the call: they may be down, or hold the tool.
func (t *shownTools) mayOwn(qualified string) bool {
	owned := false
	for _, s := range t.gateway.attached.Fleet.Servers() {
		switch {
		case !s.MayOwn(qualified):
		case !t.scope.admits(s.ID, methods.ByTool, qualified):
			return false
		default:
			owned = true
		}
	}
	return owned
}
