package interop

import (
	"context"
	"slices"
	"sync"

	"github.com/indusagi/indus/toolbox"
)

// holdForSession keeps a lane open until the session of a client ends.
func (l *lanes) holdForSession(o *lane, c *Client) {
	if c == nil || c.Session == "" || c.Life == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, held := o.sessions[c.Session]; held || o.retired || l.closed {
		return
	}
	if o.sessions == nil {
		o.sessions = map[string]func() bool{}
	}
	o.sessions[c.Session] = context.AfterFunc(c.Life, func() { l.endSession(c.Session) })
}

// sessionEndpoints returns the endpoints of a principal's session, and the principal's own endpoint if the client can
// be asked there.
func (l *lanes) sessionEndpoints(caller toolbox.Principal, session string) (found []*Endpoint) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.all {
		if o.endpoint == nil || session == "" || o.key.caller != caller {
			continue
		}
		if o.key.session == session || o.key.kind == principalLane && o.key.capabilities != "" {
			found = append(found, o.endpoint)
		}
	}
	return found
}

// Tell forwards a notification of a legacy client, such as notifications/roots/list_changed. It goes to the servers
// that can ask the client in its session ([Client].Session) of m.Caller, if includes reports that the client may reach
// them. Modern servers, and servers without a request of the session so far, are not notified.
func (f *Fleet) Tell(ctx context.Context, session string, m Message, includes func(server string) bool) {
	var notifications sync.WaitGroup
	defer notifications.Wait()
	for _, target := range f.currentMembers() {
		if !includes(target.server.ID) {
			continue
		}
		for _, e := range target.lanes.sessionEndpoints(m.Caller, session) {
			notifications.Go(func() {
				if c, _, err := e.readyConn(); err == nil {
					_ = c.Notify(ctx, m.Method, m.Params)
				}
			})
		}
	}
}

// endSession closes the lane of an ended session to new requests, and releases the lanes that the session shared.
func (l *lanes) endSession(session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	for _, o := range slices.Clone(l.all) {
		_, held := o.sessions[session]
		delete(o.sessions, session)
		switch {
		case o.key.session == session:
			l.retire(o)
		case held && o.users == 0 && !o.retired:
			l.stopTimer(o)
			l.startTimer(o)
		}
	}
	l.notifyFreedLocked()
}
