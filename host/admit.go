package host

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/indusagi/indus/toolbox"
)

// admit checks the origin of a request and returns its caller. It answers a preflight, which carries no token, itself.
func (h *Host) admit(w http.ResponseWriter, r *http.Request) (caller toolbox.Principal, refused *refusal) {
	if err := h.checkOrigin(r); err != nil {
		return "", refuse(http.StatusForbidden, err.Error())
	}
	if h.allowOrigin(w, r) {
		return "", answered
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
		boundRest(w, bodyWait)
	}
	handlerOf(func(w http.ResponseWriter, r *http.Request) *refusal {
		if foreign := h.checkOrigin(r); foreign != nil {
			return refuse(http.StatusForbidden, foreign.Error())
		}
		if h.allowOrigin(w, r) {
			return nil
		}
		return h.refuseCaller(w, err)
	}).ServeHTTP(w, r)
}

// askAgain is the interval at which the caller of an open stream is authenticated again. Its token may have expired or
// been revoked.
const askAgain = 5 * time.Second

var errNotAdmitted = errors.New("who opened the stream is not let in any more")

// whileAdmitted returns a request for a stream that stays open. Its context ends once Authenticate refuses the caller
// or returns another one. over must be called at the end, and waits for an authentication that is under way.
func (h *Host) whileAdmitted(r *http.Request, caller toolbox.Principal) (stream *http.Request, over func()) {
	if h.opts.Authenticate == nil {
		return r, func() {}
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	r = r.WithContext(ctx)
	var asking sync.WaitGroup
	asking.Go(func() {
		for {
			select {
			case <-time.After(askAgain):
			case <-ctx.Done():
				return
			}
			if who, err := h.opts.Authenticate(r); err != nil || who != caller {
				h.opts.Logger.Debug("a stream ends: its caller is let in no longer", "caller", caller, "err", err)
				cancel(errNotAdmitted)
				return
			}
		}
	})
	return r, func() {
		cancel(nil) // this also ends an authentication that is under way
		asking.Wait()
	}
}
