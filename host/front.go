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

	"github.com/indusagi/indus/host/internal/count"
	"github.com/indusagi/indus/host/internal/parked"
	"github.com/indusagi/indus/host/internal/tools"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// front answers the requests of clients over any transport. It keeps every byte of a result that does not belong to the
// hop.
type front struct {
	backend            Backend
	log                *slog.Logger
	info               json.RawMessage // name and version of this host
	instructions       string
	exact              bool   // send results and tools unchanged
	scope              string // cacheScope of cacheable results: "public" if all callers see the same
	lists              adaptedCache
	subscriptionCounts count.Tally[toolbox.Principal] // subscriptions to resources
	exchanges          *parked.Exchanges
	requests           count.Group // requests, without subscriptions
	sessionEnded       func(version, transport string, lasted time.Duration)

	mu             sync.Mutex
	listeners      map[*noteQueue]func(method string) bool
	pendingChanges map[string]*time.Timer // list changes by method, until they are broadcast
	watching       bool
	closed         bool
	stop           func() // ends Backend.Watch
}

func newFront(b Backend, o *Options, p *parked.Pool) *front {
	f := &front{
		backend: b, log: o.Logger, info: protocol.EncodeInfo(o.Info), instructions: o.Instructions,
		scope: "public", exact: o.Exact,
		exchanges: parked.New(p, errHostClosed), sessionEnded: o.SessionEnded,
		listeners: map[*noteQueue]func(string) bool{}, pendingChanges: map[string]*time.Timer{},
	}
	if o.Authenticate != nil {
		f.scope = "private"
	}
	return f
}

// serverInfo returns the name of the backend, or else of the host.
func (f *front) serverInfo() json.RawMessage {
	if b, ok := f.backend.(Namer); ok {
		if info := b.Info(); info != nil {
			return info
		}
	}
	return f.info
}

// frontRequest is one request of a client.
type frontRequest struct {
	id, params   json.RawMessage // params is an object, or nil
	method       string
	era          interop.Era
	caller       toolbox.Principal
	meta         json.RawMessage // of params; an object, or nil
	session      *frontSession   // nil for a modern request over HTTP
	header       http.Header     // the headers that the backend may see; may be nil
	send         sender          // sends messages that belong to the request; after the answer it sends nothing
	isLive       func() bool     // reports whether the client seems to read the stream of send; nil: it does
	disconnected <-chan struct{} // closed when the connection is lost or the answer is sent; nil: unknown
	isEntered    bool            // Drain waits for the request already
	client       interop.Client  // the client; answer completes it

	questionsClosed bool           // no more questions are allowed; guarded by session.mu
	questions       sync.WaitGroup // the questions in its course
}

// sender sends a client a notification, or a request if it has an id. The params are in pieces.
type sender func(id json.RawMessage, method string, params ...[]byte) error

// frontAnswer is the reply to a client: a result in pieces, which are written one after the other, or an error. The
// zero value is no reply at all.
type frontAnswer struct {
	result [][]byte
	err    *interop.RPCError
	status int           // of HTTP; 0: 200
	after  time.Duration // the client may send the request again after this time; 0: unknown
}

func (a *frontAnswer) isEmpty() bool { return a.result == nil && a.err == nil }

// resultOf returns an answer with a result.
func resultOf(o wire.Object) frontAnswer { return frontAnswer{result: [][]byte{o.JSON()}} }

// frontError returns an answer that is an error.
func frontError(status int, code int64, format string, args ...any) frontAnswer {
	return frontAnswer{status: status, err: &interop.RPCError{Code: code, Message: fmt.Sprintf(format, args...)}}
}

// answer serves one request. ctx is the request's own. If its cause is errCallDropped, the client no longer waits for
// an answer.
func (f *front) answer(ctx context.Context, r *frontRequest) frontAnswer {
	r.describeClient()
	if r.params != nil && r.params[0] != '{' {
		return frontError(http.StatusBadRequest, interop.CodeInvalidParams, "params must be an object")
	}
	if protocol.IsNote(r.method) { // with an id
		return methodNotFound(r.method)
	}
	if r.method != protocol.MethodPing && r.method != protocol.MethodListen && !r.isEntered {
		if !f.requests.Enter() {
			return frontError(http.StatusServiceUnavailable, interop.CodeInternal, "%s: %v", r.method, errDraining)
		}
		defer f.requests.Leave()
	}
	if r.era == interop.Legacy && r.session != nil {
		r.session.startAnswering(r)
		defer r.session.stopAnswering(r)
	}
	if r.era == interop.Modern {
		switch r.method {
		case protocol.MethodInitialize, protocol.MethodPing, protocol.MethodSetLevel,
			protocol.MethodSubscribe, protocol.MethodUnsubscribe:
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
				return f.answerSubscribe(ctx, r)
			}
		}
	}
	if r.session != nil && strings.HasSuffix(r.method, "/list") {
		r.session.settle(ctx, r.caller)
	}
	raw, err := f.callBackend(ctx, r, r.method, r.params)
	if errors.Is(context.Cause(ctx), errCallDropped) {
		return frontAnswer{}
	}
	if err != nil {
		return f.failure(ctx, r, err)
	}
	return f.adapt(r, raw)
}

// callBackend sends one request to the backend, and recovers from a panic of the backend.
func (f *front) callBackend(
	ctx context.Context, r *frontRequest, method string, params json.RawMessage,
) (raw json.RawMessage, err error) {
	defer r.endQuestions()
	defer f.recoverPanic(r, method, &err)
	m := r.message(method, params)
	if r.era == interop.Modern && protocol.MayRequireInput(method) {
		return f.exchanges.Handle(ctx, m, r.client.Back, f.backend.Handle)
	}
	return f.backend.Handle(ctx, m, r.client.Back)
}

// recoverPanic turns a backend's panic into an error. It is deferred.
func (f *front) recoverPanic(r *frontRequest, method string, err *error) {
	if v := recover(); v != nil {
		f.log.Error("a backend panicked", "method", method, "caller", r.caller, "panic", v, "stack", string(debug.Stack()))
		*err = &interop.RPCError{Code: interop.CodeInternal, Message: method + ": internal error"}
	}
}

// message returns the request as a backend receives it, or another request in its course.
func (r *frontRequest) message(method string, params json.RawMessage) interop.Message {
	return interop.Message{ID: r.id, Params: params, Method: method, Era: r.era, Caller: r.caller, Client: &r.client}
}

// failure turns a backend's error into the error for the client. It translates a code that concerns another hop, or
// that the protocol no longer has.
func (f *front) failure(ctx context.Context, r *frontRequest, err error) frontAnswer {
	if cause := context.Cause(ctx); cause == errHostClosed || cause == errSessionEnded {
		return frontError(0, interop.CodeInternal, "%s: %v", r.method, cause)
	}
	if rpc, ok := errors.AsType[*interop.RPCError](err); ok {
		out := *rpc
		if early, ok := errors.AsType[*protocol.TooSoon](err); ok {
			return frontAnswer{err: &out, status: http.StatusTooManyRequests, after: early.After}
		}
		switch rpc.Code {
		case interop.CodeMethodNotFound:
			return frontAnswer{err: &out, status: http.StatusNotFound}
		case protocol.CodeLegacyNotFound:
			if r.era == interop.Modern {
				out.Code = interop.CodeInvalidParams
			}
		case protocol.CodeMissingCapability: // the server received the capabilities of this client
			if r.era == interop.Modern {
				return frontAnswer{err: &out, status: http.StatusBadRequest}
			}
			out.Code = interop.CodeInternal
		case protocol.CodeHeaderMismatch, protocol.CodeUnsupportedVersion:
			out.Code = interop.CodeInternal
		case protocol.CodeURLRequired:
			if r.era == interop.Modern { // a modern client does not know the code, and cannot be asked here (SEP-2322)
				out.Code = interop.CodeInternal
			}
		}
		return frontAnswer{err: &out}
	}
	if fault, ok := errors.AsType[*interop.Fault](err); ok {
		return frontError(0, interop.CodeInternal, "%s", tools.FaultText(fault))
	}
	if hostErr, ok := errors.AsType[hostError](err); ok {
		return frontError(0, interop.CodeInternal, "%s: %v", r.method, hostErr)
	}
	if ctxErr := ctx.Err(); ctxErr != nil && errors.Is(err, ctxErr) {
		return frontError(0, interop.CodeInternal, "%s: %v", r.method, ctxErr)
	}
	f.log.Error("a backend failed", "method", r.method, "caller", r.caller, "err", err)
	return frontError(0, interop.CodeInternal, "%s: internal error", r.method)
}

// hostError is an error of the host itself, with a text for clients.
type hostError string

func (e hostError) Error() string { return string(e) }

// drain refuses new requests, and ends open questions to clients. The channel that it returns is closed when no request
// is being answered.
func (f *front) drain() <-chan struct{} {
	idle := f.requests.Close()
	f.exchanges.Drain()
	return idle
}

func methodNotFound(method string) frontAnswer {
	return frontError(http.StatusNotFound, interop.CodeMethodNotFound, "method not found: %s", method)
}

// back receives the messages of a backend that belong to a request, while the backend handles it.
func (r *frontRequest) back(ctx context.Context, m interop.Message) (json.RawMessage, error) {
	switch note := protocol.IsNote(m.Method); {
	case !note && r.era == interop.Legacy:
		return r.session.ask(ctx, r, m)
	case !note: // a modern client answers questions with its next request (SEP-2322)
		text := "this client cannot be asked: " + protocol.Printable(m.Method, 80)
		return nil, &interop.RPCError{Code: interop.CodeMethodNotFound, Message: text}
	case !r.accepts(m):
		return nil, nil
	case m.Method == protocol.NoteProgress:
		m.Params = r.withClientToken(m.Params)
		if m.Params == nil {
			return nil, nil
		}
	}
	return nil, r.send(nil, m.Method, m.Params)
}

// discoverTTL is how long a client may cache the result of server/discover, in milliseconds. Lists may not be cached,
// because list_changed reaches only clients that subscribed to it.
const discoverTTL = "300000"

// checkModern returns an error if a request is not valid in 2026-07-28. The transport checks the headers (2026-07-28,
// basic/index, "_meta").
func checkModern(meta json.RawMessage) frontAnswer {
	version, ok := protocol.LookupString(meta, protocol.MetaVersion)
	if !ok {
		return frontError(http.StatusBadRequest, interop.CodeInvalidParams, "_meta lacks %q", protocol.MetaVersion)
	}
	if version != protocol.VersionModern {
		a := frontError(http.StatusBadRequest, protocol.CodeUnsupportedVersion, "unsupported protocol version")
		a.err.Data = wire.Object{}.Raw("supported", versionsJSON()).Raw("requested", wire.Quote(version)).JSON()
		return a
	}
	if caps, _ := wire.Lookup(meta, protocol.MetaClientCaps); len(caps) == 0 || caps[0] != '{' {
		return frontError(http.StatusBadRequest, interop.CodeInvalidParams, "_meta lacks %q", protocol.MetaClientCaps)
	}
	return frontAnswer{}
}

// versionsJSON returns all revisions that the front speaks, newest first.
func versionsJSON() json.RawMessage {
	return stringsJSON(append([]string{protocol.VersionModern}, protocol.LegacyVersions()...))
}

// stringsJSON returns an array of strings.
func stringsJSON(list []string) json.RawMessage {
	quoted := make([][]byte, len(list))
	for i, s := range list {
		quoted[i] = wire.Quote(s)
	}
	return append(append([]byte{'['}, bytes.Join(quoted, []byte(","))...), ']')
}

// discovery holds the backend's answer to server/discover.
type discovery struct {
	capabilities json.RawMessage
	instructions string
	ttl, scope   json.RawMessage // nil: the backend gave none
}

func (f *front) describe(ctx context.Context, r *frontRequest) (discovery, error) {
	raw, err := f.callBackend(ctx, r, protocol.MethodDiscover, nil)
	if err != nil {
		return discovery{}, err
	}
	d := discovery{capabilities: json.RawMessage(`{}`)}
	if caps, _ := wire.Lookup(raw, "capabilities"); len(caps) > 0 && caps[0] == '{' {
		d.capabilities = caps
	}
	instructions, _ := protocol.LookupString(raw, "instructions")
	if f.instructions != "" && instructions != "" {
		instructions = "\n\n" + instructions
	}
	d.instructions = f.instructions + instructions
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
		Raw("capabilities", d.capabilities).Text("instructions", d.instructions).
		Raw("ttlMs", d.ttl).Raw("cacheScope", d.scope).
		Raw("_meta", wire.Object{}.Raw(protocol.MetaServerInfo, f.serverInfo()).JSON()))
}

// initialize answers the legacy handshake. If the client requests an unknown revision or one without a handshake, it
// offers the newest revision with a handshake.
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
		return frontError(0, interop.CodeInvalidParams,
			"initialize: the capabilities are larger than %d KiB", maxCapabilities>>10)
	}
	d, err := f.describe(ctx, r)
	if err != nil {
		return f.failure(ctx, r, err)
	}
	if r.session != nil {
		r.session.storeHandshake(version, caps, &r.client)
	}
	return resultOf(wire.Object{}.Text("protocolVersion", version).Raw("capabilities", d.capabilities).
		Raw("serverInfo", f.serverInfo()).Text("instructions", d.instructions))
}

// callKey returns the key of a request among the requests in flight. Two spellings of one id have the same key.
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
