// Package upstream measures connections to servers, and traces the requests on them. Start with [Server].
package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/telemetry"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
)

// Server is a server whose requests are traced and whose connections are measured.
type Server struct {
	Telemetry   *telemetry.Telemetry
	Config      config.Server
	Endpoint    *interop.EndpointOptions
	Transparent bool // requests pass unchanged: without a trace in _meta
	// Lists reports whether the server lists a tool, asked for a transparent server only, or a prompt, by its own name.
	Lists func(kind gateway.Kind, name string) bool
	Mask  func(text string) string // hides secrets
}

// Trace traces the requests to the server. The server gets the trace in _meta (SEP-414), unless it is transparent.
func (s Server) Trace(next interop.Peer) interop.Peer {
	of := telemetry.Operation{Server: s.Config.ID, Transport: s.transport(), Address: addressOf(s.Config)}
	return func(ctx context.Context, m interop.Message) (json.RawMessage, error) {
		if protocol.IsNote(m.Method) {
			return next(ctx, m)
		}
		o := of
		s.describe(&o, m)
		ctx, active := s.Telemetry.Upstream(ctx, &o)
		if edits := active.MetaEdits(); edits != nil && !s.Transparent {
			m.Params = withMeta(m.Params, edits)
		}
		m.Sending = active
		result, err := next(ctx, m)
		active.End(s.outcome(ctx, active, m, result, err))
		return result, err
	}
}

// describe describes a request for telemetry.
func (s Server) describe(o *telemetry.Operation, m interop.Message) {
	o.Method = m.Method
	switch m.Method {
	case protocol.MethodToolsCall:
		o.Tool, _ = protocol.LookupString(m.Params, "name")
		// Other servers get only calls of tools that are listed, or were.
		o.Known = !s.Transparent || s.Lists(gateway.KindTool, o.Tool)
	case protocol.MethodPromptsGet:
		o.Prompt, _ = protocol.LookupString(m.Params, "name")
		o.Known = s.Lists(gateway.KindPrompt, o.Prompt)
	default:
		o.URI, _ = protocol.LookupString(m.Params, "uri")
	}
}

// outcome describes the answer to a request for telemetry.
func (s Server) outcome(
	ctx context.Context, active *telemetry.Active, m interop.Message, result json.RawMessage, err error,
) telemetry.Outcome {
	o := telemetry.Outcome{BytesIn: len(m.Params), BytesOut: len(result)}
	switch rpc, ok := errors.AsType[*interop.RPCError](err); {
	case err == nil && protocol.IsToolError(result):
		o.ErrorType = telemetry.ToolError
	case err == nil || context.Cause(ctx) == gateway.ErrOvertaken:
		return o
	case ok:
		o.Code, o.Message = rpc.Code, rpc.Message
	default:
		o.ErrorType, o.Message = ErrorKind(err), err.Error()
	}
	if active.TraceID() != "" {
		o.Message = s.Mask(o.Message)
	}
	return o
}

// Ended measures a connection to the server when it ends.
func (s Server) Ended(st interop.EndpointStatus, lasted time.Duration) {
	o := &telemetry.Operation{Server: s.Config.ID, Protocol: st.Version, Transport: s.transport()}
	kind := ""
	if st.Fault != nil {
		kind = string(st.Fault.Kind)
	}
	s.Telemetry.SessionEnded(o, lasted, kind)
}

// ErrorKind classifies a failure of a request.
func ErrorKind(err error) string {
	if errors.Is(err, context.Canceled) {
		return "cancelled"
	}
	if fault, ok := errors.AsType[*interop.Fault](err); ok && fault.Kind != interop.Protocol {
		return string(fault.Kind)
	}
	if rpc, ok := errors.AsType[*interop.RPCError](err); ok {
		return strconv.FormatInt(rpc.Code, 10)
	}
	if _, ok := errors.AsType[*toolbox.UnknownTool](err); ok {
		return strconv.Itoa(interop.CodeInvalidParams)
	}
	return "internal"
}

// withMeta returns params with members of _meta changed. If that is not possible, the server gets them unchanged.
func withMeta(params json.RawMessage, edits []wire.Edit) json.RawMessage {
	if len(params) == 0 {
		params = json.RawMessage(`{}`)
	}
	meta, ok := wire.Lookup(params, "_meta")
	if !ok || meta[0] != '{' {
		meta = json.RawMessage(`{}`)
	}
	var buffer [1 << 10]byte
	meta, err := wire.AppendRewrite(buffer[:0], meta, edits...)
	if err != nil {
		return params
	}
	traced, err := wire.Rewrite(params, wire.Edit{Key: "_meta", Value: meta})
	if err != nil {
		return params
	}
	return traced
}

// transport returns the transport of the server for telemetry.
func (s Server) transport() string {
	switch c := s.Config; {
	case s.Endpoint.Transport != nil:
		return "memory"
	case c.Transport == nil:
		return ""
	case c.Transport.Kind() == config.KindHTTP, c.Single && s.Endpoint.Elsewhere != nil: // another replica has it
		return "http"
	}
	return string(s.Config.Transport.Kind())
}

// addressOf returns HOST:PORT of a server at a URL for telemetry. It returns "" if the host is a secret.
func addressOf(s config.Server) string {
	var raw string
	switch t := s.Transport.(type) {
	case config.HTTP:
		raw = t.URL
	case config.SSE:
		raw = t.URL
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || s.Mask(u.Host) != u.Host {
		return ""
	}
	port := u.Port()
	if port == "" && u.Scheme == "https" {
		port = "443"
	}
	return net.JoinHostPort(u.Hostname(), cmp.Or(port, "80"))
}
