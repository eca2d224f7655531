package host

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/indusagi/indus/internal/memory"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// postedMessage is one message received over HTTP.
type postedMessage struct {
	wire.Envelope
	method  string
	version string // from _meta; "" if it has none
	modern  bool
	meta    json.RawMessage // of the params; an object, or nil
	body    []byte          // the whole message
	accepts acceptance
	from    client
	address string // interop.Client's Address
}

// countedClient returns the client for which a message counts. Responses and cancellations count for no client, because
// a request in flight may wait for them.
func (m *postedMessage) countedClient() client {
	if m.Kind() == wire.Response || m.Kind() == wire.Notification && m.method == protocol.NoteCancelled {
		return client{}
	}
	return m.from
}

// acceptance holds the types of answers that a client accepts.
type acceptance struct{ json, stream bool }

// receive reads one message.
func (h *Host) receive(w http.ResponseWriter, r *http.Request, from client) (*postedMessage, *refusal) {
	if !jsonBody(r.Header) {
		return nil, refuse(http.StatusUnsupportedMediaType, "Content-Type must be application/json")
	}
	if coding := strings.Join(r.Header["Content-Encoding"], ", "); coding != "" && !strings.EqualFold(coding, "identity") {
		w.Header().Set("Accept-Encoding", "identity")
		return nil, refuse(http.StatusUnsupportedMediaType, "the body must have no Content-Encoding")
	}
	m := &postedMessage{accepts: parseAccept(r.Header), from: from, address: addressOf(r.RemoteAddr)}
	if !m.accepts.json && !m.accepts.stream {
		return nil, refuse(http.StatusNotAcceptable, "Accept must name application/json or text/event-stream")
	}
	body, err := h.readBody(w, r, from.caller)
	var long *wire.TooLong
	switch {
	case err == nil:
	case !errors.As(err, &long):
		return nil, refuse(http.StatusBadRequest, "the body could not be read")
	case long.Size > h.opts.MaxMessage:
		h.failQuestion(w, r, from.caller, long.Prefix, nil)
		return nil, refuse(http.StatusRequestEntityTooLarge, "the message is too large")
	default:
		w.Header().Set("Retry-After", "1")
		return nil, refuse(http.StatusServiceUnavailable, memory.NoRoom{}.Error())
	}
	var bad *wire.BadFrame
	m.body = body
	m.Envelope, bad = readMessage(body)
	if bad != nil {
		if t, ok := h.elsewhere(r, nil, from.caller); ok { // it may be a broken answer to a question there
			return nil, cmp.Or(h.forward(w, r, m, &t), alreadyAnswered)
		}
		h.failQuestion(w, r, from.caller, body, bad)
		e := badFrameError(bad)
		return nil, refuseMessage(bad.ID, frontAnswer{err: e, status: http.StatusBadRequest})
	}
	m.method, m.meta = m.MethodName(), protocol.MetaOf(m.Params)
	m.version, m.modern = protocol.LookupString(m.meta, protocol.MetaVersion)
	// A handshake is legacy whatever its headers are, because the revision is not agreed on yet.
	m.modern = m.modern || modernVersion(r.Header) && m.method != protocol.MethodInitialize
	m.modern = m.modern && !inSession(r.Header)
	return m, nil
}

// failQuestion ends the open question that a message would have answered. The message is broken, or too large if bad is
// nil. The id of a message that is too large is read from its beginning.
func (h *Host) failQuestion(
	w http.ResponseWriter, r *http.Request, caller toolbox.Principal, prefix []byte, bad *wire.BadFrame,
) {
	id, _ := protocol.OneHeader(r.Header, protocol.HeaderSession)
	s := h.sessions.acquire(h, id, caller)
	if s == nil {
		return
	}
	defer h.sessions.release(s)
	if bad == nil && s.hasQuestions() {
		if len(prefix) == 0 {
			limitBodyRead(w, writeGrace)
			prefix = make([]byte, 1<<10)
			n, _ := io.ReadFull(r.Body, prefix)
			prefix = prefix[:n]
		}
		bad = (&wire.TooLong{Prefix: prefix[:min(len(prefix), 1<<10)]}).Frame()
		bad.Err = errors.New("the message is too large")
	}
	if bad != nil {
		s.rejectAnswer(bad)
	}
}

// inSession reports whether a request belongs to a legacy session, whatever its _meta contains. A bridge may send
// messages from clients of either era in its own session.
func inSession(h http.Header) bool {
	v, _ := protocol.OneHeader(h, hostKeyVersion)
	return len(h[protocol.HeaderSession]) > 0 &&
		(len(h[hostKeyVersion]) == 0 || slices.Contains(protocol.LegacyVersions(), v))
}

func jsonBody(h http.Header) bool {
	v, _ := protocol.OneHeader(h, "Content-Type")
	if v == "application/json" {
		return true
	}
	kind, _, err := mime.ParseMediaType(v)
	return err == nil && kind == "application/json"
}

// parseAccept reads the Accept header. A missing header accepts everything. Of several matching ranges the most
// specific one counts, and a weight of 0 refuses (RFC 9110, section 12.5.1).
func parseAccept(h http.Header) acceptance {
	values := h["Accept"]
	if len(values) == 0 || len(values) == 1 && values[0] == "application/json, text/event-stream" {
		return acceptance{true, true}
	}
	ranges := map[string]bool{}
	for _, value := range values {
		for item := range strings.SplitSeq(value, ",") {
			kind, params, _ := strings.Cut(strings.ToLower(item), ";")
			ranges[strings.TrimSpace(kind)] = !hasNoWeight(params)
		}
	}
	accepts := func(names ...string) bool {
		for _, r := range names {
			if ok, listed := ranges[r]; listed {
				return ok
			}
		}
		return false
	}
	return acceptance{accepts("application/json", "application/*", "*/*"), accepts("text/event-stream", "text/*", "*/*")}
}

// hasNoWeight reports a weight of zero among the parameters of a media range.
func hasNoWeight(params string) bool {
	for p := range strings.SplitSeq(params, ";") {
		if q, ok := strings.CutPrefix(strings.TrimSpace(p), "q="); ok {
			weight, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
			return err == nil && weight == 0
		}
	}
	return false
}

const (
	// bodyWait is the time that any body may take. Beyond that, a body must bring bodyRate bytes a second, so that a
	// slow client does not hold memory.
	bodyWait = 30 * time.Second
	bodyRate = 16 << 10
)

// timedBody is a body with a deadline that moves on with the bytes received.
type timedBody struct {
	io.Reader
	c        *http.ResponseController
	start    time.Time
	received int64
	transfer *memory.Transfer
}

func (b *timedBody) Read(p []byte) (int, error) {
	_ = b.c.SetReadDeadline(b.start.Add(bodyWait + time.Duration(b.received/bodyRate)*time.Second))
	b.transfer.Waits()
	n, err := b.Reader.Read(p)
	b.transfer.Moved(n)
	b.received += int64(n)
	return n, err
}

// limitBodyRead bounds how long net/http reads the rest of an unread body. net/http reads it before it sends the
// answer, and without a limit.
func limitBodyRead(w http.ResponseWriter, d time.Duration) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(d))
}

// readBody reads the whole body of a request before anything else is done.
func (h *Host) readBody(w http.ResponseWriter, r *http.Request, caller toolbox.Principal) (body []byte, err error) {
	n := r.ContentLength
	c := http.NewResponseController(w)
	defer func() {
		if err == nil {
			_ = c.SetReadDeadline(time.Time{}) // the connection is used again
		} else {
			limitBodyRead(w, writeGrace)
		}
	}()
	m := memory.Meter{Budget: h.opts.Memory, Owner: string(caller)}
	if n >= 0 && (n <= memory.Small || n > h.opts.MaxMessage) {
		return wire.ReadAll(r.Body, n, int(h.opts.MaxMessage), m) // within bodyWait, which serveHTTP has set
	}
	timed := &timedBody{Reader: r.Body, c: c, start: time.Now()}
	timed.transfer = h.opts.Memory.Transfer(func() { _ = c.SetReadDeadline(time.Now()) })
	defer timed.transfer.End()
	body, err = wire.ReadAll(timed, -1, int(h.opts.MaxMessage), m) // the declared length is not trusted for allocation
	if err == nil && int64(len(body)) < n {
		err = io.ErrUnexpectedEOF
	}
	return body, err
}

// errNoMessage is returned for JSON that is not a message.
var errNoMessage = errors.New("neither a request, nor a notification, nor a response of JSON-RPC 2.0")

// readMessage scans one message of a client.
func readMessage(b []byte) (wire.Envelope, *wire.BadFrame) {
	env, err := wire.Scan(b)
	if err == nil {
		err = wire.CheckUTF8(b)
	}
	if string(env.Params) == "null" { // some clients send null for no params
		env.Params = nil
	}
	switch {
	case err == nil && string(env.Version) == `"2.0"` && env.Kind() != wire.Invalid:
		return env, nil
	case err != nil && bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte("[")):
		err = errors.New("batches are not supported")
	case err == nil, wire.Valid(b) && !bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte("{")):
		err = errNoMessage
	}
	bad := (&wire.TooLong{Prefix: b}).Frame()
	bad.Err = err
	return env, bad
}

// badFrameError returns the error for a frame that is not a message. It is a parse error if the frame is not JSON, and
// an invalid request otherwise.
func badFrameError(bad *wire.BadFrame) *interop.RPCError {
	e := &interop.RPCError{Code: interop.CodeInvalidRequest, Message: bad.Err.Error()}
	if errors.As(bad.Err, new(*wire.SyntaxError)) {
		e.Code, bad.ID = protocol.CodeParse, nil
	}
	return e
}
