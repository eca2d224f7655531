package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop/internal/conn"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
)

// Quarantine is a tool that a server listed and that is not mounted, or not shown unchanged
// to every client, with the reason. It can also be a rule of the configuration that matches
// none of the server's tools.
type Quarantine struct {
	Server string
	Tool   string // the server's own name; "" if the row has none, or if this is about a rule
	Reason string
	// Published reports that the tool is hidden from models only. A [Host] publishes it.
	Published bool
	// Mended reports that the tool is mounted and shown to models. Clients on the official
	// SDKs refuse a whole list because of the flaw in Reason, so a host publishes the tool
	// without the flaw.
	Mended bool
	// Denied reports that Server.Tools leaves the tool out on purpose. It is not a problem.
	Denied bool
	// Rule is the rule that matches no tool, as in `deny "delete_*"`. It is empty if this is
	// about a tool.
	Rule string
}

func (q Quarantine) String() string {
	switch {
	case q.Rule != "":
		return fmt.Sprintf("%s: %s: %s", q.Server, q.Rule, q.Reason)
	case q.Mended:
		return fmt.Sprintf("%s: tool %q is not shown to clients as it is, which refuse a whole list for it: %s",
			q.Server, q.Tool, q.Reason)
	case q.Denied:
		return fmt.Sprintf("%s: tool %q is left out: %s", q.Server, q.Tool, q.Reason)
	}
	return fmt.Sprintf("%s: tool %q is quarantined: %s", q.Server, q.Tool, q.Reason)
}

// listing holds one server's tools, as the server listed them or as a configuration changes
// them. Once complete it is immutable.
type listing struct {
	tools    []listedTool
	byName   map[string]int // index in tools, by the server's own name
	rejected []Quarantine
	changes  uint64 // Endpoint.changes at the time of the request
	partial  bool   // it comes from FleetOptions.Known; the server may have more tools
	owner    toolbox.Owner
	raw      *listing    // as the server listed it
	config   *toolConfig // applied to raw; nil if none was
}

func newListing() *listing {
	l := &listing{byName: map[string]int{}}
	l.raw = l
	return l
}

type listedTool struct {
	toolbox.Descriptor
	params []protocol.ParamHeader // parameters that modern HTTP repeats in headers
}

// find returns a tool by its server's name. It returns nil if the tool is not listed, or l is
// nil.
func (l *listing) find(name string) *listedTool {
	if l == nil {
		return nil
	}
	if i, ok := l.byName[name]; ok {
		return &l.tools[i]
	}
	return nil
}

// listAttempt is a running list request that all concurrent callers share.
type listAttempt struct {
	done    chan struct{}
	changes uint64 // Endpoint.changes when it began
	list    *listing
	err     error
}

// Tools returns all pages of the server's list, in its order. The first success is cached
// until the server reports a change. Rows that cannot be used, and tools that Server.Tools
// denies, are left out. [Endpoint.Quarantined] returns them.
func (e *Endpoint) Tools(ctx context.Context) ([]toolbox.Descriptor, error) {
	l, err := e.currentListing(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]toolbox.Descriptor, len(l.tools))
	for i := range l.tools {
		out[i] = l.tools[i].Descriptor
	}
	return out, nil
}

// Quarantined returns the entries that the last list left out.
func (e *Endpoint) Quarantined() []Quarantine {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.list == nil {
		return nil
	}
	return append([]Quarantine(nil), e.list.rejected...)
}

// invalidateList invalidates the list, and wakes the fleet's supervisor.
func (e *Endpoint) invalidateList() {
	e.mu.Lock()
	e.listChanges++
	e.mu.Unlock()
	watch.Signal(e.opts.stale) // nil if there is no fleet
}

// knownListing returns a list of the known tools of a server that has not replied yet, or nil
// if none are known.
func (e *Endpoint) knownListing(rows []toolbox.Wire) *listing {
	if len(rows) == 0 {
		return nil
	}
	l := newListing()
	l.partial = true
	for _, row := range rows {
		n := len(l.tools)
		e.addRow(l, row.JSON)
		if len(l.tools) > n {
			l.tools[n].Wire.Format = row.Format // of the era in which it was listed
		}
	}
	return l.withConfig(e.config)
}

// currentListing returns the cached list, or waits for the running request or a new one.
func (e *Endpoint) currentListing(ctx context.Context) (*listing, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	e.mu.Lock()
	if !e.phase.Usable() {
		defer e.mu.Unlock()
		return nil, e.notConnected()
	}
	a := e.listRequest
	if a == nil || a.changes != e.listChanges {
		a = &listAttempt{done: make(chan struct{}), changes: e.listChanges}
		e.listRequest = a
		e.running.Go(func() { e.runListing(a) })
	}
	e.mu.Unlock()
	select {
	case <-a.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if a.list != nil && e.list != nil && e.list.raw == a.list.raw {
		return e.list, a.err
	}
	return a.list.withConfig(e.config), a.err // which may have changed meanwhile
}

// runListing completes a list request. A failure is not cached.
func (e *Endpoint) runListing(a *listAttempt) {
	ctx, cancel := conn.WithDeadline(e.ctx, e.server.Timeouts.List, protocol.DefaultList)
	defer cancel()
	a.list, a.err = e.readPages(ctx, nil)
	if a.err != nil {
		a.err = e.listFault(ctx, a.err)
	} else {
		for i := range a.list.rejected {
			a.list.rejected[i].Reason = e.secrets.Mask(a.list.rejected[i].Reason)
		}
	}
	e.mu.Lock()
	switch {
	case a.err != nil && e.listRequest == a:
		e.listRequest = nil
	case a.err == nil:
		a.list.changes = a.changes
		a.list = a.list.withConfig(e.config)
		if e.list == nil || e.list.changes <= a.changes {
			e.list = a.list
		}
	}
	e.mu.Unlock()
	close(a.done)
}

func (e *Endpoint) listFault(ctx context.Context, err error) error {
	var late *conn.DeadlineError
	var f *Fault
	switch {
	case errors.As(err, new(*conn.UnmatchedError)) && errors.As(err, &f):
		return f
	case errors.As(context.Cause(ctx), &late):
		return NewFault(Timeout, e.server.ID, protocol.MethodToolsList, late)
	case e.ctx.Err() != nil:
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.notConnected()
	case errors.As(err, &f):
		return f
	}
	return e.newFault(Protocol, protocol.MethodToolsList, err)
}

// ownerOf returns the owner of the listed tools, with the caching hints of this page and of
// the pages before it.
func (e *Endpoint) ownerOf(members []wire.Member, before toolbox.Owner, first bool) toolbox.Owner {
	ttl, private := protocol.Caching(members)
	if !first {
		ttl = min(ttl, before.TTL)
	}
	return toolbox.Owner{
		Server: e.server.ID, Prefix: e.server.Prefixes()[0], Instructions: e.Instructions(),
		Private: private || before.Private, TTL: ttl,
	}
}

// readPages requests page after page. It stops, with a note, if a server repeats a cursor or
// never ends. client is the client of ctx and receives the list. If it is nil, the list is
// for all clients.
func (e *Endpoint) readPages(ctx context.Context, client *Client) (*listing, error) {
	l, first := newListing(), true
	pages := protocol.Pages{
		Method: protocol.MethodToolsList, Key: "tools", MaxPages: e.opts.MaxPages, MaxBytes: e.opts.MaxMessage,
	}
	remainder, err := pages.Read(func(params json.RawMessage) (json.RawMessage, error) {
		return e.do(ctx, Message{Method: protocol.MethodToolsList, Params: params, bounded: client == nil})
	}, func(page []wire.Member, rows []json.RawMessage) {
		l.owner = e.ownerOf(page, l.owner, first)
		for _, row := range rows {
			e.addRow(l, row)
		}
		first = false
	})
	var rpc *RPCError
	var pageErr *protocol.PageError
	switch {
	case errors.As(err, &pageErr):
		return nil, &conn.ProtocolError{What: pageErr.Problem, Cause: pageErr.Cause}
	case first && errors.As(err, &rpc) && rpc.Code == CodeMethodNotFound &&
		!protocol.Has(e.Capabilities(), []string{"tools"}): // it has no tools
	case err != nil:
		return nil, err
	case remainder != "":
		l.reject(e.server.ID, "", remainder)
	}
	return l, nil
}

func (l *listing) reject(server, name, reason string) {
	l.rejected = append(l.rejected, Quarantine{Server: server, Tool: name, Reason: reason})
}

// addRow reads one row of a list, or records the reason why it cannot be used.
func (e *Endpoint) addRow(l *listing, row json.RawMessage) {
	id := e.server.ID
	members, err := wire.Members(row)
	if err != nil {
		l.reject(id, "", "the row is no object: "+protocol.Printable(string(row), 60))
		return
	}
	if err := wire.Unique(members); err != nil {
		l.reject(id, "", "the row is ambiguous: "+err.Error())
		return
	}
	var name, description string
	var input json.RawMessage
	for _, m := range members {
		switch m.Key {
		case "name":
			name, _ = wire.Unquote(m.Value)
		case "description":
			description, _ = wire.Unquote(m.Value)
		case "inputSchema":
			input = m.Value
		}
	}
	if name == "" {
		l.reject(id, "", "the row has no name: "+protocol.Printable(string(row), 60))
		return
	}
	if first := l.find(name); first != nil {
		if string(first.Wire.JSON) != string(row) {
			l.reject(id, name, "the server lists this name twice; the first one stands")
		}
		return
	}
	reason := protocol.Unpublishable(input)
	if !utf8.Valid(row) {
		reason = "it is not UTF-8"
	}
	if reason != "" {
		l.reject(id, name, reason)
		return
	}
	t := listedTool{Descriptor: toolbox.Descriptor{ // its Name is set by the configuration
		Description: description, Server: id, Tool: name,
		Schema: input, Wire: toolbox.Wire{Format: e.format(), JSON: row},
	}}
	if err := schema.Measure(input, e.opts.Limits); err != nil {
		t.Excluded = err.Error()
		l.rejected = append(l.rejected, Quarantine{Server: id, Tool: name, Reason: t.Excluded, Published: true})
	} else if t.params, err = protocol.ParamHeaders(input); err != nil {
		if e.speaksModernHTTP() {
			l.reject(id, name, err.Error())
			return
		}
		t.params = nil
	}
	if _, flaws := protocol.Mend(row, true); len(flaws) > 0 {
		var reasons []string
		for _, f := range flaws {
			reasons = append(reasons, f.String())
		}
		l.rejected = append(l.rejected, Quarantine{
			Server: id, Tool: name, Reason: strings.Join(reasons, "; "), Published: true, Mended: true,
		})
	}
	l.byName[name] = len(l.tools)
	l.tools = append(l.tools, t)
}

func (e *Endpoint) speaksModernHTTP() bool {
	_, ok := e.server.Transport.(HTTP)
	return ok && e.opts.Transport == nil && e.Era() == Modern
}

// format returns the format of this server's bytes.
func (e *Endpoint) format() string {
	if e.Era() == Modern {
		return protocol.FormatModern
	}
	return protocol.FormatLegacy
}
