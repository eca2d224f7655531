package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// front answers the requests of clients, whatever they come over. It keeps
// every byte of a result that is not the hop's own.
type front struct {
	backend      Backend
	log          *slog.Logger
	info         json.RawMessage // how we name ourselves
	instructions string
	exact        bool   // mend nothing
	scope        string // of what may be cached: "public" where all see the same
	kept         frontKept

	mu        sync.Mutex
	listeners map[*noteBox]func(method string) bool
	watching  bool
	closed    bool
	stop      func()        // ends Backend.Watch
	active    int           // requests being answered, subscriptions left out
	drained   chan struct{} // non-nil: new requests are refused; closed once active is 0
}

func newFront(b Backend, o *Options) *front {
	f := &front{
		backend: b, log: o.Logger, info: protocol.EncodeInfo(o.Info), instructions: o.Instructions,
		scope: "public", exact: o.Exact,
		listeners: map[*noteBox]func(string) bool{},
	}
	if o.Principal != nil {
		f.scope = "private"
	}
	return f
}

// frontRequest is one request of a client.
type frontRequest struct {
	id, params json.RawMessage // params is an object, or nil
	method     string
	era        interop.Era
	caller     toolbox.Principal
	session    *frontSession // nil where a modern request came over HTTP
	// note sends what belongs to the request; after the answer it sends nothing.
	note func(ctx context.Context, method string, params ...[]byte) error
}

// frontAnswer is what a client gets: a result in pieces, which are written one
// after the other, or an error. The zero answer is none at all.
type frontAnswer struct {
	result [][]byte
	err    *interop.RPCError
	status int // of HTTP; 0: 200
}

func (a *frontAnswer) none() bool { return a.result == nil && a.err == nil }

// frontError is an answer that is an error.
func frontError(status int, code int64, format string, args ...any) frontAnswer {
	return frontAnswer{status: status, err: &interop.RPCError{Code: code, Message: fmt.Sprintf(format, args...)}}
}

// answer serves one request. ctx is the request's own; where its cause is
// errCallDropped nobody waits for an answer any more.
func (f *front) answer(ctx context.Context, r *frontRequest) frontAnswer {
	if r.params != nil && r.params[0] != '{' {
		return frontError(http.StatusBadRequest, interop.CodeInvalidParams, "params must be an object")
	}
	if r.method != protocol.MethodPing && r.method != protocol.MethodListen {
		if !f.begin() {
			return frontError(http.StatusServiceUnavailable, interop.CodeInternal, "%s: %v", r.method, errDraining)
		}
		defer f.finish()
	}
	if r.era == interop.Modern {
		switch r.method {
		case protocol.MethodInitialize, protocol.MethodPing, protocol.MethodSetLevel, "resources/subscribe", "resources/unsubscribe":
			return methodNotFound(r.method)
		case protocol.MethodDiscover:
			return f.discover(ctx, r)
		case protocol.MethodListen:
			return f.listen(ctx, r)
		}
	} else {
		switch r.method {
		case protocol.MethodInitialize:
			return f.initialize(ctx, r)
		case protocol.MethodPing:
			return frontAnswer{result: [][]byte{[]byte(`{}`)}}
		case protocol.MethodDiscover, protocol.MethodListen:
			return methodNotFound(r.method)
		}
	}
	if r.method == protocol.MethodToolsList && r.session != nil {
		r.session.settle(ctx, r.caller)
	}
	raw, err := f.ask(ctx, r, r.method, r.params)
	if errors.Is(context.Cause(ctx), errCallDropped) {
		return frontAnswer{}
	}
	if err != nil {
		return f.failure(ctx, r, err)
	}
	return f.adapt(r, raw)
}

// ask puts one request to the backend, whose panics end here.
func (f *front) ask(ctx context.Context, r *frontRequest, method string, params json.RawMessage) (raw json.RawMessage, err error) {
	defer func() {
		if v := recover(); v != nil {
			f.log.Error("a backend panicked", "method", method, "panic", v, "stack", string(debug.Stack()))
			raw, err = nil, &interop.RPCError{Code: interop.CodeInternal, Message: method + ": internal error"}
		}
	}()
	m := interop.Message{ID: r.id, Params: params, Method: method, Era: r.era, Caller: r.caller}
	return f.backend.Handle(ctx, m, r.back)
}

// failure is what a client sees of a backend's error. A code that concerns
// another hop, or that is gone from the protocol, is translated.
func (f *front) failure(ctx context.Context, r *frontRequest, err error) frontAnswer {
	if cause := context.Cause(ctx); cause == errHostClosed || cause == errSessionEnded {
		return frontError(0, interop.CodeInternal, "%s: %v", r.method, cause)
	}
	var rpc *interop.RPCError
	if errors.As(err, &rpc) {
		out := *rpc
		switch rpc.Code {
		case interop.CodeMethodNotFound:
			return frontAnswer{err: &out, status: http.StatusNotFound}
		case protocol.CodeLegacyNotFound:
			out.Code = interop.CodeInvalidParams
		case protocol.CodeHeaderMismatch, protocol.CodeMissingCapability, protocol.CodeUnsupportedVersion:
			out.Code = interop.CodeInternal
		case protocol.CodeURLRequired:
			if r.era == interop.Modern { // which must not see it, and whom we cannot ask (SEP-2322)
				out.Code = interop.CodeInternal
			}
		}
		return frontAnswer{err: &out}
	}
	var fault *interop.Fault
	if errors.As(err, &fault) {
		return frontError(0, interop.CodeInternal, "%s", faultText(fault))
	}
	return frontError(0, interop.CodeInternal, "%s: %v", r.method, err)
}

// begin counts a request; false where new ones are refused.
func (f *front) begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.drained != nil {
		return false
	}
	f.active++
	return true
}

func (f *front) finish() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.active--; f.active == 0 && f.drained != nil {
		close(f.drained)
	}
}

// drain refuses new requests, and returns what is closed when none is being answered.
func (f *front) drain() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.drained == nil {
		if f.drained = make(chan struct{}); f.active == 0 {
			close(f.drained)
		}
	}
	return f.drained
}

func methodNotFound(method string) frontAnswer {
	return frontError(http.StatusNotFound, interop.CodeMethodNotFound, "method not found: %s", method)
}

// faultText is a fault with what to try.
func faultText(fault *interop.Fault) string {
	if advice := fault.Advice(); advice != "" {
		return fault.Message + "; what to try: " + advice
	}
	return fault.Message
}

// back takes what a backend says of a request while it handles it.
func (r *frontRequest) back(ctx context.Context, m interop.Message) (json.RawMessage, error) {
	if !strings.HasPrefix(m.Method, "notifications/") {
		return nil, &interop.RPCError{Code: interop.CodeMethodNotFound, Message: "this client cannot be asked: " + m.Method}
	}
	return nil, r.note(ctx, m.Method, m.Params)
}

// metaOf is the _meta of a request; nil where there is none.
func metaOf(params json.RawMessage) json.RawMessage {
	meta, _ := wire.Lookup(params, "_meta")
	if len(meta) == 0 || meta[0] != '{' {
		return nil
	}
	return meta
}

// errorJSON is the error of a response.
func errorJSON(e *interop.RPCError) json.RawMessage {
	return protocol.EncodeError(e.Code, e.Message, e.Data)
}
