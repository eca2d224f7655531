package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

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
	kept         adaptedLists
	holds        tally[toolbox.Principal] // subscriptions to resources
	exchanges    *exchanges
	answering    group // requests, subscriptions left out

	mu        sync.Mutex
	listeners map[*noteQueue]func(method string) bool
	gathering map[string]*time.Timer // of lists that have changed, by method, until they are told of
	watching  bool
	closed    bool
	stop      func() // ends Backend.Watch
}

func newFront(b Backend, o *Options, p *parking) *front {
	f := &front{
		backend: b, log: o.Logger, info: protocol.EncodeInfo(o.Info), instructions: o.Instructions,
		scope: "public", exact: o.Exact,
		exchanges: newExchanges(p),
		listeners: map[*noteQueue]func(string) bool{}, gathering: map[string]*time.Timer{},
	}
	if o.Authenticate != nil {
		f.scope = "private"
	}
	return f
}

// name is how we name ourselves.
func (f *front) name() json.RawMessage {
	if b, ok := f.backend.(Namer); ok {
		if info := b.Info(); info != nil {
			return info
		}
	}
	return f.info
}

// frontRequest is one request of a client.
type frontRequest struct {
	id, params json.RawMessage // params is an object, or nil
	method     string
	era        interop.Era
	caller     toolbox.Principal
	meta       json.RawMessage // of params; an object, or nil
	session    *frontSession   // nil where a modern request came over HTTP
	header     http.Header     // what the backend may see of it; nil: nothing
	send       sender          // of what belongs to the request; after the answer it sends nothing
	live       func() bool     // reports whether the client reads what send sends, as far as is known; nil: it does
	gone       <-chan struct{} // closed when its connection is lost, or the answer is sent; nil: neither is known
	client     interop.Client  // who asks: set by answer

	over   bool           // nothing can be asked any more; guarded by session.mu
	asking sync.WaitGroup // the questions in its course
}

// sender sends a client a notification, or with an id a request, whose params are in pieces.
type sender func(id json.RawMessage, method string, params ...[]byte) error

// frontAnswer is what a client gets: a result in pieces, which are written one
// after the other, or an error. The zero answer is none at all.
type frontAnswer struct {
	result [][]byte
	err    *interop.RPCError
	status int // of HTTP; 0: 200
}

func (a *frontAnswer) none() bool { return a.result == nil && a.err == nil }

// resultOf is an answer with a result.
func resultOf(o wire.Object) frontAnswer { return frontAnswer{result: [][]byte{o.JSON()}} }

// frontError is an answer that is an error.
func frontError(status int, code int64, format string, args ...any) frontAnswer {
	return frontAnswer{status: status, err: &interop.RPCError{Code: code, Message: fmt.Sprintf(format, args...)}}
}

// answer serves one request. ctx is the request's own; where its cause is
// errCallDropped nobody waits for an answer any more.
func (f *front) answer(ctx context.Context, r *frontRequest) frontAnswer {
	r.knowClient()
	if r.params != nil && r.params[0] != '{' {
		return frontError(http.StatusBadRequest, interop.CodeInvalidParams, "params must be an object")
	}
	if r.method != protocol.MethodPing && r.method != protocol.MethodListen {
		if !f.answering.enter() {
			return frontError(http.StatusServiceUnavailable, interop.CodeInternal, "%s: %v", r.method, errDraining)
		}
		defer f.answering.leave()
	}
	if r.era == interop.Legacy && r.session != nil {
		r.session.answers(r)
		defer r.session.answeredRequest(r)
	}
	if r.era == interop.Modern {
		switch r.method {
		case protocol.MethodInitialize, protocol.MethodPing, protocol.MethodSetLevel, protocol.MethodSubscribe, protocol.MethodUnsubscribe:
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
			return resultOf(nil)
		case protocol.MethodDiscover, protocol.MethodListen:
			return methodNotFound(r.method)
		case protocol.MethodSetLevel:
			return f.setLevel(ctx, r)
		case protocol.MethodSubscribe, protocol.MethodUnsubscribe:
			if _, ok := f.backend.(Subscriber); ok && r.session != nil {
				return f.subscribed(ctx, r)
			}
		}
	}
	if r.session != nil && strings.HasSuffix(r.method, "/list") {
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
	defer r.endQuestions()
	defer f.withoutPanic(r, method, &err)
	m := r.message(method, params)
	if r.era == interop.Modern && protocol.MayRequireInput(method) {
		return f.exchanges.handle(ctx, m, r.client.Back, f.backend.Handle)
	}
	return f.backend.Handle(ctx, m, r.client.Back)
}

// withoutPanic makes an error of a backend's panic. It is deferred.
func (f *front) withoutPanic(r *frontRequest, method string, err *error) {
	if v := recover(); v != nil {
		f.log.Error("a backend panicked", "method", method, "caller", r.caller, "panic", v, "stack", string(debug.Stack()))
		*err = &interop.RPCError{Code: interop.CodeInternal, Message: method + ": internal error"}
	}
}

// message is the request for a backend, or another one in its course.
func (r *frontRequest) message(method string, params json.RawMessage) interop.Message {
	return interop.Message{ID: r.id, Params: params, Method: method, Era: r.era, Caller: r.caller, Client: &r.client}
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
			if r.era == interop.Modern {
				out.Code = interop.CodeInvalidParams
			}
		case protocol.CodeMissingCapability: // the server was shown what this client declares
			if r.era == interop.Modern {
				return frontAnswer{err: &out, status: http.StatusBadRequest}
			}
			out.Code = interop.CodeInternal
		case protocol.CodeHeaderMismatch, protocol.CodeUnsupportedVersion:
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
	if own, ok := errors.AsType[hostError](err); ok {
		return frontError(0, interop.CodeInternal, "%s: %v", r.method, own)
	}
	if over := ctx.Err(); over != nil && errors.Is(err, over) {
		return frontError(0, interop.CodeInternal, "%s: %v", r.method, over)
	}
	f.log.Error("a backend failed", "method", r.method, "caller", r.caller, "err", err)
	return frontError(0, interop.CodeInternal, "%s: internal error", r.method)
}

// hostError is an error of the host itself, in words for a client.
type hostError string

func (e hostError) Error() string { return string(e) }

// drain refuses new requests, ends what clients are asked, and returns what is closed when none is being answered.
func (f *front) drain() <-chan struct{} {
	idle := f.answering.close()
	f.exchanges.drain()
	return idle
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
	switch note := isNote(m.Method); {
	case !note && r.era == interop.Legacy:
		return r.session.ask(ctx, r, m)
	case !note: // it answers questions with its next request (SEP-2322)
		return nil, &interop.RPCError{Code: interop.CodeMethodNotFound, Message: "this client cannot be asked: " + protocol.Printable(m.Method, 80)}
	case !r.hears(m):
		return nil, nil
	case m.Method == protocol.NoteProgress:
		if m.Params = r.ownProgress(m.Params); m.Params == nil {
			return nil, nil
		}
	}
	return nil, r.send(nil, m.Method, m.Params)
}

// isNote reports a notification's method.
func isNote(method string) bool { return strings.HasPrefix(method, "notifications/") }

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

// discoverTTL is how long a client may keep what server/discover says, in
// milliseconds. Lists may not be kept: list_changed reaches only who listens.
const discoverTTL = "300000"

// supportedVersions is all revisions that the front speaks, newest first.
func supportedVersions() []string {
	return append([]string{protocol.VersionModern}, protocol.LegacyVersions()...)
}

// checkModern says why a request is none of 2026-07-28. Its header checks are
// the transport's (2026-07-28, basic/index, "_meta").
func checkModern(meta json.RawMessage) frontAnswer {
	version, ok := protocol.LookupString(meta, protocol.MetaVersion)
	if !ok {
		return frontError(http.StatusBadRequest, interop.CodeInvalidParams, "_meta lacks %q", protocol.MetaVersion)
	}
	if version != protocol.VersionModern {
		return unsupportedAnswer(version)
	}
	if caps, _ := wire.Lookup(meta, protocol.MetaClientCaps); len(caps) == 0 || caps[0] != '{' {
		return frontError(http.StatusBadRequest, interop.CodeInvalidParams, "_meta lacks %q", protocol.MetaClientCaps)
	}
	return frontAnswer{}
}

// unsupportedAnswer is the UnsupportedProtocolVersionError.
func unsupportedAnswer(version string) frontAnswer {
	a := frontError(http.StatusBadRequest, protocol.CodeUnsupportedVersion, "unsupported protocol version")
	a.err.Data = wire.Object{}.Raw("supported", versionsJSON()).Raw("requested", wire.Quote(version)).JSON()
	return a
}

func versionsJSON() json.RawMessage { return stringsJSON(supportedVersions()) }

// stringsJSON is an array of strings.
func stringsJSON(list []string) json.RawMessage {
	quoted := make([][]byte, len(list))
	for i, s := range list {
		quoted[i] = wire.Quote(s)
	}
	return append(append([]byte{'['}, bytes.Join(quoted, []byte(","))...), ']')
}

// described is what the backend says of itself.
type described struct {
	capabilities json.RawMessage
	instructions string
	ttl, scope   json.RawMessage // nil: not said
}

func (f *front) describe(ctx context.Context, r *frontRequest) (described, error) {
	raw, err := f.ask(ctx, r, protocol.MethodDiscover, nil)
	if err != nil {
		return described{}, err
	}
	d := described{capabilities: json.RawMessage(`{}`)}
	if caps, _ := wire.Lookup(raw, "capabilities"); len(caps) > 0 && caps[0] == '{' {
		d.capabilities = caps
	}
	says, _ := protocol.LookupString(raw, "instructions")
	if f.instructions != "" && says != "" {
		says = "\n\n" + says
	}
	d.instructions = f.instructions + says
	d.ttl, _ = wire.Lookup(raw, "ttlMs")
	d.scope, _ = wire.Lookup(raw, "cacheScope")
	return d, nil
}

// discover answers server/discover.
func (f *front) discover(ctx context.Context, r *frontRequest) frontAnswer {
	d, err := f.describe(ctx, r)
	if err != nil {
		return f.failure(ctx, r, err)
	}
	if d.ttl == nil {
		d.ttl = json.RawMessage(discoverTTL)
	}
	if d.scope == nil {
		d.scope = wire.Quote(f.scope)
	}
	return resultOf(wire.Object{}.Text("resultType", "complete").Raw("supportedVersions", versionsJSON()).
		Raw("capabilities", d.capabilities).Text("instructions", d.instructions).Raw("ttlMs", d.ttl).Raw("cacheScope", d.scope).
		Raw("_meta", wire.Object{}.Raw(protocol.MetaServerInfo, f.name()).JSON()))
}

// initialize answers the legacy handshake. Asked for a revision that it does
// not know, a 2026 one included, it offers the newest with a handshake.
func (f *front) initialize(ctx context.Context, r *frontRequest) frontAnswer {
	version, ok := protocol.LookupString(r.params, "protocolVersion")
	if !ok {
		return frontError(0, interop.CodeInvalidParams, "initialize lacks protocolVersion")
	}
	if !slices.Contains(protocol.LegacyVersions(), version) {
		version = protocol.VersionLegacy
	}
	caps, _ := wire.Lookup(r.params, "capabilities")
	if len(caps) > maxCapabilities {
		return frontError(0, interop.CodeInvalidParams, "initialize: the capabilities are larger than %d KiB", maxCapabilities>>10)
	}
	d, err := f.describe(ctx, r)
	if err != nil {
		return f.failure(ctx, r, err)
	}
	if r.session != nil {
		r.session.agree(version, caps)
	}
	return resultOf(wire.Object{}.Text("protocolVersion", version).Raw("capabilities", d.capabilities).
		Raw("serverInfo", f.name()).Text("instructions", d.instructions))
}

// callKey names a request among those in flight: two spellings of one id are one.
func callKey(id json.RawMessage) string {
	if len(id) == 0 {
		return ""
	}
	if id[0] == '"' {
		s, _ := wire.Unquote(id)
		return `"` + s
	}
	if n, err := strconv.ParseFloat(string(id), 64); err == nil && n == float64(int64(n)) && n > -1<<53 && n < 1<<53 {
		return strconv.FormatInt(int64(n), 10)
	}
	return string(id)
}
