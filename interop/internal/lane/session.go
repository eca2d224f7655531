package lane

import (
	"context"
	"slices"

	"github.com/indusagi/indus/toolbox"
)

// Hold keeps a lane open until the life of a session ends. It does nothing if session is "" or life is nil.
func (l *Table) Hold(o *Lane, session string, life context.Context) {
	if session == "" || life == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, held := o.sessions[session]; held || o.retired || l.closed {
		return
	}
	if o.sessions == nil {
		o.sessions = map[string]func() bool{}
	}
	o.sessions[session] = context.AfterFunc(life, func() { l.endSession(session) })
}

// InSession returns the connections of a principal's session, and the principal's own connection if the client can
// be asked there.
func (l *Table) InSession(caller toolbox.Principal, session string) (found []Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.all {
		if o.conn == nil || session == "" || o.key.Caller != caller {
			continue
		}
		if o.key.Session == session || o.key.Kind == ForPrincipal && o.key.Capabilities != "" {
			found = append(found, o.conn)
		}
	}
	return found
}

// endSession closes the lane of an ended session to new requests, and releases the lanes that the session shared.
func (l *Table) endSession(session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	for _, o := range slices.Clone(l.all) {
		_, held := o.sessions[session]
		delete(o.sessions, session)
		switch {
		case o.key.Session == session:
			l.retire(o)
		case held && o.users == 0 && !o.retired:
			l.stopTimer(o)
			l.startTimer(o)
		}
	}
	l.freed.All()
}
