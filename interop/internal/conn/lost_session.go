package conn

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/indusagi/indus/internal/protocol"
)

// Codes with which servers refuse requests of a session that they do not know.
const (
	codeNoSession   = -32001
	codeServerError = -32000
)

// endIfLost ends the connection if the server no longer knows its session. The specification requires 404 for that, but
// restarted servers refuse such requests in many forms. So after a refusal in a session that has worked, a ping checks
// the session. If the ping is refused too, the connection dies, and the next one has a new session.
//
// The call did not run if the ping was refused in the same form, with a status with which a server answers before it
// runs a call. Another refusal must name the session: a tool that ran may return an error with the status 200, and an
// intermediary answers 5xx to a call that may have run. p is the call, or nil.
func (c *streamable) endIfLost(ctx context.Context, err error, p *pending) error {
	over := c.endIfFatal(err)
	if over == nil || !c.worked.Load() || c.id.Load() == nil || errors.As(over, new(*LostError)) {
		return over
	}
	if c.s.Err() != nil && over != err { //nolint:errorlint // endIfFatal returns err itself
		return over
	}
	refused := formOf(err)
	if !refused.isDoubtful() || ctx.Err() != nil {
		return over
	}
	ping := c.pingError(ctx)
	again := formOf(ping)
	if !again.isDoubtful() || c.server.forwards && refused.concernsCaller() && !refused.namesSession {
		return over
	}
	_, begun := errors.AsType[*CutError](err)
	begun = begun || p != nil && p.begun.Load()
	err = &SessionError{err}
	if !begun && again == refused && (refused.status/100 == 4 || refused.namesSession) {
		return c.s.rejectCall(err)
	}
	c.s.die(err)
	return err
}

// pingError returns the error of a ping in the session. Only one ping is under way at a time.
func (c *streamable) pingError(ctx context.Context) error {
	c.asking.Lock()
	defer c.asking.Unlock()
	if cause := c.s.Err(); cause != nil {
		return cause
	}
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	_, err := c.s.Call(ctx, Request{Method: protocol.MethodPing, quiet: true})
	return err
}

// refusal is the form in which a server refused a request.
type refusal struct {
	status       int    // of HTTP; 0: the status was 200
	code         int64  // of JSON-RPC; 0: there is none
	message      string // of an error with the status 200
	namesSession bool
}

func formOf(err error) (r refusal) {
	var text string
	if rpc, ok := errors.AsType[*protocol.RPCError](err); ok {
		r.code, text = rpc.Code, rpc.Message
	}
	if he, ok := errors.AsType[*HTTPError](err); ok {
		r.status = he.Status
		text += he.Body
	} else {
		r.message = text
	}
	text = strings.ToLower(text)
	for _, word := range []string{"session", "not initialized", "initialize request"} {
		r.namesSession = r.namesSession || strings.Contains(text, word)
	}
	return r
}

// isDoubtful reports whether a refusal may mean that the session is gone.
func (r refusal) isDoubtful() bool {
	switch r.status {
	case 0:
		return r.code == codeNoSession || r.code == codeServerError
	case http.StatusProxyAuthRequired, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge,
		http.StatusTooManyRequests:
		return false
	case http.StatusNotFound:
		return r.code != protocol.CodeMethodNotFound
	case http.StatusInternalServerError, http.StatusServiceUnavailable:
		return true
	}
	return r.status/100 == 4
}

// concernsCaller reports whether a refusal may concern the credential of one caller.
func (r refusal) concernsCaller() bool {
	return r.status == http.StatusUnauthorized || r.status == http.StatusForbidden
}
