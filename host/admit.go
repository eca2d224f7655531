package host

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/replica"
	"github.com/indusagi/indus/toolbox"
)

// admit checks the origin of a request and returns its caller. It answers a preflight, which carries no token, itself.
//
// The replica that forwards a request has checked its origin and authenticated its caller.
func (h *Host) admit(w http.ResponseWriter, r *http.Request) (caller toolbox.Principal, refused *refusal) {
	if from := replica.From(r.Context()); from != nil {
		h.allowOrigin(w, r)
		return toolbox.Principal(from.Principal), nil
	}
	replica.Unmark(r)
	if err := h.CheckOrigin(r); err != nil {
		return "", refuse(http.StatusForbidden, err.Error())
	}
	if h.allowOrigin(w, r) {
		return "", alreadyAnswered
	}
	if h.opts.Authenticate == nil {
		return "", nil
	}
	caller, err := h.opts.Authenticate(r)
	if err != nil {
		return "", h.refuseCaller(w, err)
	}
	return caller, nil
}

// Refuse answers a request that Options.Authenticate has refused with err. It gives the same answer as the handlers,
// without a second call of Authenticate. It is for programs that authenticate a request before they choose its host.
func (h *Host) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	if r.ContentLength != 0 {
		limitBodyRead(w, bodyWait)
	}
	handlerOf(func(w http.ResponseWriter, r *http.Request) *refusal {
		if originErr := h.CheckOrigin(r); originErr != nil {
			return refuse(http.StatusForbidden, originErr.Error())
		}
		if h.allowOrigin(w, r) {
			return nil
		}
		return h.refuseCaller(w, err)
	}).ServeHTTP(w, r)
}

// reauthInterval is the interval at which the caller of an open stream is authenticated again. Its token may have
// expired or been revoked.
const reauthInterval = 5 * time.Second

var errUnauthorized = errors.New("the caller that opened the stream is no longer authorized")

// reauthenticate returns a request for a stream that stays open. Its context ends once Authenticate refuses the caller
// or returns another one. stop must be called at the end, and waits for an authentication that is under way.
func (h *Host) reauthenticate(r *http.Request, caller toolbox.Principal) (stream *http.Request, stop func()) {
	if h.opts.Authenticate == nil || replica.From(r.Context()) != nil { // the replica of the client does it
		return r, func() {}
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	r = r.WithContext(ctx)
	var checking sync.WaitGroup
	checking.Go(func() {
		for watch.Sleep(ctx, reauthInterval) {
			if current, err := h.opts.Authenticate(r); err != nil || current != caller {
				h.opts.Logger.Debug("a stream ends: its caller is no longer authorized", "caller", caller, "err", err)
				cancel(errUnauthorized)
				return
			}
		}
	})
	return r, func() {
		cancel(nil) // this also ends an authentication that is under way
		checking.Wait()
	}
}
