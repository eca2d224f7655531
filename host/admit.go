package host

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/indusagi/indus/toolbox"
)

// admit says who sends a request. A preflight, which carries no token, is answered.
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

// Refuse answers a request as the handlers do once Options.Authenticate has refused it with err, and does not ask again: for those
// who have to know who calls before they know which host is meant.
func (h *Host) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	if r.ContentLength != 0 {
		boundRest(w, bodyWait)
	}
	handler(func(w http.ResponseWriter, r *http.Request) *refusal {
		if foreign := h.checkOrigin(r); foreign != nil {
			return refuse(http.StatusForbidden, foreign.Error())
		}
		if h.allowOrigin(w, r) {
			return nil
		}
		return h.refuseCaller(w, err)
	}).ServeHTTP(w, r)
}

// askAgain is after which time it is asked again who holds a stream: its token may have expired, or been taken away.
const askAgain = 5 * time.Second

var errNotAdmitted = errors.New("who opened the stream is not let in any more")

// whileAdmitted is a request that has a stream open, whose context ends once its sender would not be
// let in any more, or not as the same. over must follow, and waits for a question that is under way.
func (h *Host) whileAdmitted(r *http.Request, caller toolbox.Principal) (stream *http.Request, over func()) {
	if h.opts.Authenticate == nil {
		return r, func() {}
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	r = r.WithContext(ctx)
	var mu sync.Mutex
	var again *time.Timer
	ended := false
	mu.Lock()
	defer mu.Unlock()
	again = time.AfterFunc(askAgain, func() {
		mu.Lock()
		defer mu.Unlock()
		if ended {
			return
		}
		if who, err := h.opts.Authenticate(r); err != nil || who != caller {
			h.opts.Logger.Debug("a stream ends: its caller is let in no longer", "caller", caller, "err", err)
			cancel(errNotAdmitted)
			return
		}
		again.Reset(askAgain)
	})
	return r, func() {
		cancel(nil) // which ends a question that is under way, too
		mu.Lock()
		defer mu.Unlock()
		ended = true
		again.Stop()
	}
}
