package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/interop/internal/conn"
	"github.com/indusagi/indus/interop/internal/listing"
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

// listAttempt is a running list request that all concurrent callers share.
type listAttempt struct {
	done    chan struct{}
	changes uint64 // Endpoint.changes when it began
	list    *listing.List
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
	out := make([]toolbox.Descriptor, len(l.Tools))
	for i := range l.Tools {
		out[i] = l.Tools[i].Descriptor
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
	return quarantines(e.list.Rejected)
}

// quarantines converts the rejected rows of a list.
func quarantines(rejected []listing.Rejected) (out []Quarantine) {
	for _, r := range rejected {
		out = append(out, Quarantine(r))
	}
	return out
}

// configure sets the settings of the server, and applies them to the current list.
func (e *Endpoint) configure(c *config.Server) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.config, e.list = c, e.list.WithConfig(c)
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
func (e *Endpoint) knownListing(rows []toolbox.Wire) *listing.List {
	if len(rows) == 0 {
		return nil
	}
	l := listing.New()
	l.Partial = true
	for _, row := range rows {
		n := len(l.Tools)
		l.Add(row.JSON, e.rowSource())
		if len(l.Tools) > n {
			l.Tools[n].Wire.Format = row.Format // of the era in which it was listed
		}
	}
	return l.WithConfig(e.config)
}

// currentListing returns the cached list, or waits for the running request or a new one.
func (e *Endpoint) currentListing(ctx context.Context) (*listing.List, error) {
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
	if a.list != nil && e.list != nil && e.list.Raw == a.list.Raw {
		return e.list, a.err
	}
	return a.list.WithConfig(e.config), a.err // which may have changed meanwhile
}

// runListing completes a list request. A failure is not cached.
func (e *Endpoint) runListing(a *listAttempt) {
	ctx, cancel := conn.WithDeadline(e.ctx, e.server.Timeouts.List, protocol.DefaultList)
	defer cancel()
	a.list, a.err = e.readPages(ctx, nil)
	if a.err != nil {
		a.err = e.listFault(ctx, a.err)
	} else {
		for i := range a.list.Rejected {
			a.list.Rejected[i].Reason = e.secrets.Mask(a.list.Rejected[i].Reason)
		}
	}
	e.mu.Lock()
	switch {
	case a.err != nil && e.listRequest == a:
		e.listRequest = nil
	case a.err == nil:
		a.list.Changes = a.changes
		a.list = a.list.WithConfig(e.config)
		if e.list == nil || e.list.Changes <= a.changes {
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
func (e *Endpoint) readPages(ctx context.Context, client *Client) (*listing.List, error) {
	l, first := listing.New(), true
	pages := protocol.Pages{
		Method: protocol.MethodToolsList, Key: "tools", MaxPages: e.opts.MaxPages, MaxBytes: e.opts.MaxMessage,
	}
	remainder, err := pages.Read(func(params json.RawMessage) (json.RawMessage, error) {
		return e.do(ctx, Message{Method: protocol.MethodToolsList, Params: params, bounded: client == nil})
	}, func(page []wire.Member, rows []json.RawMessage) {
		l.Owner = e.ownerOf(page, l.Owner, first)
		source := e.rowSource()
		for _, row := range rows {
			l.Add(row, source)
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
		l.Rejected = append(l.Rejected, listing.Rejected{Server: e.server.ID, Reason: remainder})
	}
	return l, nil
}

// rowSource returns the facts about the server that the reading of its rows needs.
func (e *Endpoint) rowSource() listing.Source {
	return listing.Source{
		Server: e.server.ID, Format: e.format(), Limits: e.opts.Limits, RepeatsParams: e.speaksModernHTTP(),
	}
}

func (e *Endpoint) speaksModernHTTP() bool {
	_, ok := e.server.Transport.(config.HTTP)
	return ok && e.opts.Transport == nil && e.Era() == Modern
}

// format returns the format of this server's bytes.
func (e *Endpoint) format() string {
	if e.Era() == Modern {
		return protocol.FormatModern
	}
	return protocol.FormatLegacy
}
