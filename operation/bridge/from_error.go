package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/operation"
	"github.com/indusagi/indus/toolbox"
)

// The errors with which an operation of [FromMCP] can end, beside the protocol's. MCP's
// tools declare none of their own, so each has these.
const (
	// ToolError: the tool ran and reports that it failed. Details: content, and
	// structuredContent where it gave some.
	ToolError operation.Code = "MCP_TOOL_ERROR"
	// Refused: the server answered with an error of JSON-RPC. Details: its code, and its
	// data where it gave some.
	Refused operation.Code = "MCP_REFUSED"
	// Unauthorized: the server wants a token, or a better one. Details: status, 401 or
	// 403, and the challenge where it gave one; 0 where nothing went out for want of one.
	Unauthorized operation.Code = "MCP_UNAUTHORIZED"
	// Unavailable: the server was not reached, or did not answer. It is retryable where
	// the call cannot have run, and of a Query. Details: status, where it gave one.
	Unavailable operation.Code = "MCP_UNAVAILABLE"
)

// errorDefinitions is what every spec declares.
var errorDefinitions = []operation.ErrorDefinition{
	{Code: ToolError, Description: "The tool ran and failed.", Schema: json.RawMessage(
		`{"type":"object","properties":{"content":{"type":"array"},"structuredContent":{}},"required":["content"]}`)},
	{Code: Refused, Description: "The server refused the request.", Schema: json.RawMessage(
		`{"type":"object","properties":{"code":{"type":"integer"},"data":{}},"required":["code"]}`)},
	{Code: Unauthorized, Description: "The server wants a token, or one with more rights.", Schema: json.RawMessage(
		`{"type":"object","properties":{"status":{"type":"integer"},"challenge":{"type":"string"}},"required":["status"]}`)},
	{Code: Unavailable, Description: "The server could not be reached, or its answer is lost.", Schema: json.RawMessage(
		`{"type":"object","properties":{"status":{"type":"integer"}}}`)},
}

// maxExcerpt is how much of a text that a server wrote is in a message, in bytes.
const maxExcerpt = 2 << 10

// toolError is the error of a tool that ran and failed. Its message is the text that the
// tool gave.
func toolError(r *toolbox.Result) error {
	var texts []string
	for _, b := range r.Blocks() {
		if b.Text != nil {
			texts = append(texts, *b.Text)
		}
	}
	message := excerpt(strings.Join(texts, "\n"))
	if message == "" {
		message = "the tool failed and does not say why"
	}
	return &operation.Error{Code: ToolError, Message: message, Details: details(struct {
		Content    json.RawMessage `json:"content"`
		Structured json.RawMessage `json:"structuredContent,omitempty"`
	}{content(r), r.Structured()})}
}

// noToken is the error of a call that has to bring a token and does not.
func noToken(capability string) error {
	return &operation.Error{
		Code: Unauthorized, Message: fmt.Sprintf("the call brings no capability %q", capability),
		Details: json.RawMessage(`{"status":0}`),
	}
}

// failure is what the caller gets of a call that gave no result. What it says of a
// second try is what is known of the first.
func (t *remote) failure(ctx context.Context, err error) error {
	if over := ctx.Err(); over != nil && errors.Is(err, over) {
		return err
	}
	e := &operation.Error{Message: excerpt(err.Error())}
	var (
		rpc    *interop.RPCError
		answer *interop.HTTPError
		refuse *statusError
		gone   *toolbox.UnknownTool
	)
	switch {
	case errors.As(err, &answer) && answer.Status == http.StatusNotFound && !unknownMethod(err): // a session that is gone says so in JSON-RPC too
		t.byStatus(e, answer.Status, "")
	case errors.As(err, &rpc):
		e.Code, e.Message = Refused, excerpt(rpc.Message)
		e.Details = details(struct {
			Code int64           `json:"code"`
			Data json.RawMessage `json:"data,omitempty"`
		}{rpc.Code, rpc.Data})
	case errors.As(err, &answer):
		t.byStatus(e, answer.Status, answer.Header.Get("WWW-Authenticate"))
	case errors.As(err, &refuse):
		t.byStatus(e, refuse.status, "")
	case errors.As(err, &gone):
		e.Code, e.Message = Unavailable, "the server does not list the tool any more"
	case unsent(err):
		e.Code = Unavailable
	case errors.Is(err, interop.Timeout):
		return fmt.Errorf("%s: %w", e.Message, context.DeadlineExceeded)
	case errors.Is(err, interop.Protocol):
		e.Code = operation.InternalError
	default:
		e.Code, e.Retryable = Unavailable, t.reads
	}
	if e.Code != Unavailable {
		return e
	}
	e.Retryable = e.Retryable || unsent(err)
	if e.Details == nil {
		e.Details = json.RawMessage("{}")
	}
	return e
}

// unknownMethod reports the one answer that modern servers give with HTTP 404 (2026-07-28,
// basic/transports/streamable-http).
func unknownMethod(err error) bool {
	var rpc *interop.RPCError
	return errors.As(err, &rpc) && rpc.Code == interop.CodeMethodNotFound
}

// byStatus judges an HTTP answer that is no answer of the protocol.
func (t *remote) byStatus(e *operation.Error, status int, challenge string) {
	var data struct {
		Status    int    `json:"status"`
		Challenge string `json:"challenge,omitempty"`
	}
	data.Status = status
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		e.Code, data.Challenge = Unauthorized, excerpt(challenge)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusNotFound: // of a session that is gone
		e.Code, e.Retryable = Unavailable, true
	default:
		e.Code, e.Retryable = Unavailable, t.reads
	}
	e.Details = details(data)
}

// unsent reports a failure before the call can have reached anybody.
func unsent(err error) bool {
	var before *unsentError
	var op *net.OpError
	fault, outermost := err.(*interop.Fault) //nolint:errorlint // a cause may be of another connection
	return errors.As(err, &before) || errors.As(err, &op) && op.Op == "dial" || outermost && fault.Kind == interop.NotConnected
}

// importError gives a failure of Import its kind.
func (l *link) importError(err error) error {
	kind := operation.DiscoveryFailed
	var answer *interop.HTTPError
	if errors.As(err, &answer) && (answer.Status == http.StatusUnauthorized ||
		answer.Status == http.StatusForbidden && answer.Header.Get("WWW-Authenticate") != "") {
		kind = operation.Unauthorized
	}
	message := err.Error()
	var fault *interop.Fault
	if !errors.As(err, &fault) { // else it names the server itself
		message = l.namespace + ": " + message
	}
	return &importError{kind, message, err}
}

// importError is a failure of Import, of a kind.
type importError struct {
	kind  operation.ImportError
	text  string
	cause error
}

func (e *importError) Error() string   { return "bridge: " + string(e.kind) + ": " + e.text }
func (e *importError) Unwrap() []error { return []error{e.kind, e.cause} }

// excerpt is the beginning of a text, as sound UTF-8.
func excerpt(message string) string {
	return text.Clip(strings.ToValidUTF8(message, ""), maxExcerpt)
}

// details encodes what can always be encoded: JSON that has been read before, numbers and
// valid text.
func details(v any) json.RawMessage {
	raw, _ := text.JSON(v)
	return raw
}
