package host

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
)

// maxCapabilities bounds the capabilities of a client that a session keeps, in bytes.
const maxCapabilities = 64 << 10

// describeClient fills in the description of the client that the backend receives, and the functions that reach the
// client.
func (r *frontRequest) describeClient() {
	c := &r.client
	c.Era, c.Back, c.Header, c.Transport = r.era, r.back, r.header, "http"
	if r.session != nil {
		c.Session, c.Life, c.Transport = r.session.name, r.session.life, r.session.transport
	}
	if r.era == interop.Modern {
		caps, _ := wire.Lookup(r.meta, protocol.MetaClientCaps)
		c.Capabilities = declaredCapabilities(caps)
		c.LogLevel, _ = protocol.LookupString(r.meta, protocol.MetaLogLevel)
		c.Name, c.Version = statedInfo(r.meta, protocol.MetaClientInfo)
		c.Protocol = protocol.VersionModern
	} else if s := r.session; s != nil {
		s.mu.Lock()
		c.Capabilities, c.LogLevel, c.Always = s.caps, s.level, s.always
		c.Name, c.Version, c.Protocol = s.clientName, s.clientVersion, s.version
		s.mu.Unlock()
	}
	if r.method == protocol.MethodInitialize {
		c.Name, c.Version = statedInfo(r.params, "clientInfo")
	}
}

const (
	// maxInfo bounds the name and the version of a client, in bytes.
	maxInfo = 256
	// maxRawInfo bounds their JSON strings, so that each request decodes only a little.
	maxRawInfo = 4 << 10
)

// statedInfo returns the name and the version that a client states in a member of obj.
func statedInfo(obj json.RawMessage, key string) (name, version string) {
	info, _ := wire.Lookup(obj, key)
	return statedText(info, "name"), statedText(info, "version")
}

// statedText returns a text of a client for logs and people, or "" if there is none or it is too large.
func statedText(info json.RawMessage, key string) string {
	raw, _ := wire.Lookup(info, key)
	if len(raw) > maxRawInfo {
		return ""
	}
	s, _ := wire.Unquote(raw)
	for i := range len(s) {
		if i >= maxInfo || s[i] < ' ' || s[i] > '~' { // rare, and Printable takes time
			return protocol.Printable(s, maxInfo-len("…"))
		}
	}
	return s
}

// addressOf returns the IP address of a request over HTTP, or "" if it came over no network.
func addressOf(remote string) string {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return ""
	}
	return at.Addr().Unmap().WithZone("").String()
}

// forwarded returns the request headers that the backend may see.
func (h *Host) forwarded(r *http.Request) http.Header {
	if h.opts.Forward == nil {
		return nil
	}
	return protocol.PickHeaders(r.Header, h.opts.Forward())
}

// declaredCapabilities returns capabilities that declare something, or nil if they declare nothing.
func declaredCapabilities(caps json.RawMessage) json.RawMessage {
	if len(caps) == 0 || caps[0] != '{' || len(bytes.TrimSpace(caps[1:len(caps)-1])) == 0 {
		return nil
	}
	return caps
}

// sendOutside implements [interop.Client].Always for a session.
func (s *frontSession) sendOutside(ctx context.Context, m interop.Message) (json.RawMessage, error) {
	if !protocol.IsNote(m.Method) {
		return s.ask(ctx, nil, m)
	}
	if !s.accepts(m) {
		return nil, nil
	}
	return nil, s.queue(nil, m.Method, m.Params)
}

// setLevel answers logging/setLevel. After it, the session receives no log messages below the level (2025-11-25,
// server/utilities/logging).
func (f *front) setLevel(ctx context.Context, r *frontRequest) frontAnswer {
	d, err := f.describe(ctx, r)
	if err != nil {
		return f.failure(ctx, r, err)
	}
	if logging, ok := wire.Lookup(d.capabilities, "logging"); !ok || logging[0] != '{' {
		return methodNotFound(r.method)
	}
	level, _ := protocol.LookupString(r.params, "level")
	if !slices.Contains(protocol.LogSeverities(), level) {
		return frontError(0, interop.CodeInvalidParams, "%s: no such level: %q", r.method, protocol.Printable(level, 40))
	}
	r.session.mu.Lock()
	r.session.level = level
	r.session.mu.Unlock()
	return resultOf(nil)
}

// accepts reports whether a session's client wants a notification.
func (s *frontSession) accepts(m interop.Message) bool {
	if m.Method != protocol.NoteMessage {
		return m.Method != protocol.NoteCancelled // its id belongs to another hop
	}
	s.mu.Lock()
	level := s.level
	s.mu.Unlock()
	return level == "" || isSevere(m.Params, level)
}

// accepts reports whether the client of a request wants a notification. A modern client receives log messages only if
// it asks for them.
func (r *frontRequest) accepts(m interop.Message) bool {
	switch {
	case r.era == interop.Legacy:
		return r.session.accepts(m)
	case m.Method == protocol.NoteMessage:
		return r.client.LogLevel != "" && isSevere(m.Params, r.client.LogLevel)
	case strings.HasSuffix(m.Method, "/list_changed"), m.Method == "notifications/resources/updated":
		return false // these go to subscriptions (2026-07-28, basic/patterns/subscriptions)
	}
	return m.Method != protocol.NoteCancelled
}

// withClientToken returns the params of a progress notification with the request's own token, whatever token the server
// used. It returns nil if the client gave no token.
func (r *frontRequest) withClientToken(params json.RawMessage) json.RawMessage {
	token := protocol.ProgressToken(r.meta)
	if token == nil {
		return nil
	}
	if given, _ := wire.Lookup(params, "progressToken"); string(given) == string(token) {
		return params
	}
	params, err := wire.Rewrite(params, wire.Edit{Key: "progressToken", Value: token})
	if err != nil {
		return nil
	}
	return params
}

// isSevere reports whether a log message is at or above a level.
func isSevere(params json.RawMessage, level string) bool {
	severity, _ := protocol.LookupString(params, "level")
	return protocol.ReachesSeverity(severity, level)
}
