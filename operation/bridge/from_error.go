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

// The errors of operations of [FromMCP], in addition to the codes of package operation. Tools of MCP declare no errors,
// so each operation has these.
const (
	// ToolError means that the tool ran and reported a failure. Details contain content, and structuredContent if the
	// tool returned some.
	ToolError operation.Code = "MCP_TOOL_ERROR"
	// Refused means that the server answered with an error of JSON-RPC. Details contain its code, and its data if there
	// is some.
	Refused operation.Code = "MCP_REFUSED"
	// Unauthorized means that the server requires a token, or a better one. Details contain the status, 401 or 403, and
	// the challenge if there is one. If the call had no token to send, the status is 0.
	Unauthorized operation.Code = "MCP_UNAUTHORIZED"
	// Unavailable means that the server was not reached or did not answer. The error is retryable if the call cannot
	// have run, or if it is a Query. Details contain the status if there is one.
	Unavailable operation.Code = "MCP_UNAVAILABLE"
)

// errorDefinitions are the errors that every spec declares.
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

// maxExcerpt limits text of a server in a message, in bytes.
const maxExcerpt = 2 << 10

// toolError returns the error for a tool that ran and failed. Its message is the text of the result.
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

// failure returns the caller's error for a call without a result. It is retryable only if the first attempt allows it.
func (t *remote) failure(ctx context.Context, err error) error {
	if ctxErr := ctx.Err(); ctxErr != nil && errors.Is(err, ctxErr) {
		return err
	}
	e := &operation.Error{Message: excerpt(err.Error())}
	var (
		rpc         *interop.RPCError
		httpErr     *interop.HTTPError
		statusErr   *statusError
		unknownTool *toolbox.UnknownTool
	)
	switch {
	// a lost session is reported in JSON-RPC too
	case errors.As(err, &httpErr) && httpErr.Status == http.StatusNotFound && !unknownMethod(err):
		t.setStatus(e, httpErr.Status, "")
	case errors.As(err, &rpc):
		e.Code, e.Message = Refused, excerpt(rpc.Message)
		e.Details = details(struct {
			Code int64           `json:"code"`
			Data json.RawMessage `json:"data,omitempty"`
		}{rpc.Code, rpc.Data})
	case errors.As(err, &httpErr):
		t.setStatus(e, httpErr.Status, httpErr.Header.Get("WWW-Authenticate"))
	case errors.As(err, &statusErr):
		t.setStatus(e, statusErr.status, "")
	case errors.As(err, &unknownTool):
		e.Code, e.Message = Unavailable, "the server does not list the tool any more"
	case isUnsent(err):
		e.Code = Unavailable
	case errors.Is(err, interop.Timeout):
		return fmt.Errorf("%s: %w", e.Message, context.DeadlineExceeded)
	case errors.Is(err, interop.Protocol):
		e.Code = operation.InternalError
	default:
		e.Code, e.Retryable = Unavailable, t.readOnly
	}
	if e.Code != Unavailable {
		return e
	}
	e.Retryable = e.Retryable || isUnsent(err)
	if e.Details == nil {
		e.Details = json.RawMessage("{}")
	}
	return e
}

// unknownMethod reports an unknown method, for which alone modern servers answer with HTTP 404 (2026-07-28,
// basic/transports/streamable-http).
func unknownMethod(err error) bool {
	var rpc *interop.RPCError
	return errors.As(err, &rpc) && rpc.Code == interop.CodeMethodNotFound
}

// setStatus fills in the error for an HTTP answer without a protocol message.
func (t *remote) setStatus(e *operation.Error, status int, challenge string) {
	var data struct {
		Status    int    `json:"status"`
		Challenge string `json:"challenge,omitempty"`
	}
	data.Status = status
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		e.Code, data.Challenge = Unauthorized, excerpt(challenge)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusNotFound: // 404 is for a lost session
		e.Code, e.Retryable = Unavailable, true
	default:
		e.Code, e.Retryable = Unavailable, t.readOnly
	}
	e.Details = details(data)
}

// isUnsent reports whether the call failed before it could reach the server.
func isUnsent(err error) bool {
	var unsent *unsentError
	var op *net.OpError
	fault, outermost := err.(*interop.Fault) //nolint:errorlint // a cause may be of another connection
	return errors.As(err, &unsent) || errors.As(err, &op) && op.Op == "dial" ||
		outermost && fault.Kind == interop.NotConnected
}

// importError adds a kind to a failure of Import.
func (l *link) importError(err error) error {
	kind := operation.DiscoveryFailed
	var httpErr *interop.HTTPError
	if errors.As(err, &httpErr) && (httpErr.Status == http.StatusUnauthorized ||
		httpErr.Status == http.StatusForbidden && httpErr.Header.Get("WWW-Authenticate") != "") {
		kind = operation.Unauthorized
	}
	server := ""
	if !errors.As(err, new(*interop.Fault)) { // a Fault already names the server
		server = l.namespace + ": "
	}
	return fmt.Errorf("bridge: %w: %s%w", kind, server, err)
}

// excerpt returns the beginning of a text as valid UTF-8.
func excerpt(message string) string {
	return text.Clip(strings.ToValidUTF8(message, ""), maxExcerpt)
}

// details encodes v, which can always be encoded: JSON, numbers and valid text.
func details(v any) json.RawMessage {
	raw, _ := text.JSON(v)
	return raw
}
