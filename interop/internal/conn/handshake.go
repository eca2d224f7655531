package conn

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
)

// capabilitiesOrEmpty returns the client's capabilities, or an empty object.
func capabilitiesOrEmpty(capabilities json.RawMessage) json.RawMessage {
	if capabilities == nil {
		return json.RawMessage(`{}`)
	}
	return capabilities
}

// ModernMeta returns the _meta of every modern request. It has only the reserved keys (2026-07-28, basic/index,
// "_meta"). If capabilities is nil, the client declares none.
func ModernMeta(info protocol.Info, capabilities json.RawMessage) json.RawMessage {
	return wire.Object{}.Text(protocol.MetaVersion, protocol.VersionModern).
		Raw(protocol.MetaClientInfo, protocol.EncodeInfo(info)).
		Raw(protocol.MetaClientCaps, capabilitiesOrEmpty(capabilities)).JSON()
}

// discoverRequest returns the request that tries the modern era.
func discoverRequest(o Options) Request {
	params := wire.Object{}.Raw("_meta", ModernMeta(o.Info, o.Capabilities)).JSON()
	return Request{Method: protocol.MethodDiscover, Params: params, quiet: true}
}

// initializeRequest returns the request that begins a legacy session.
func initializeRequest(o Options, version string) Request {
	params := wire.Object{}.Text("protocolVersion", version).Raw("capabilities", capabilitiesOrEmpty(o.Capabilities)).
		Raw("clientInfo", protocol.EncodeInfo(o.Info)).JSON()
	return Request{Method: protocol.MethodInitialize, Params: params, quiet: true}
}

// initialize begins a legacy session with one of the supported versions.
func (s *session) initialize(ctx context.Context, version string) (Handshake, error) {
	result, err := s.Call(ctx, initializeRequest(s.opts, version))
	if err != nil {
		return Handshake{}, err
	}
	h, err := parseInitialize(result)
	if err != nil {
		return Handshake{}, err
	}
	s.handshake.Store(&h)
	return h, s.notifyInitialized(ctx)
}

// notifyInitialized completes the handshake of a legacy session.
func (s *session) notifyInitialized(ctx context.Context) error {
	err := s.notify(ctx, protocol.NoteInitialized, nil)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		if late, ok := errors.AsType[*DeadlineError](context.Cause(ctx)); ok {
			return &InitializedError{late}
		}
		return err
	}
	if unsent, ok := errors.AsType[*UnsentError](err); ok {
		err = unsent.Cause // there is no session yet that could be lost
	}
	return &InitializedError{err}
}

// offeredVersion returns the legacy version that a server names when it refuses one. It returns "" if there is no other
// to try.
func offeredVersion(err error, version string) string {
	rpc, ok := errors.AsType[*protocol.RPCError](err)
	if !ok {
		return ""
	}
	if other := supportedBy(rpc).legacy(); other != version {
		return other
	}
	return ""
}

// supportedBy returns the versions that a server names in an error.
func supportedBy(err *protocol.RPCError) *VersionError {
	supported, _ := wire.Lookup(err.Data, "supported")
	return &VersionError{stringItems(supported)}
}

// unsupportedVersion returns a VersionError for the server's error -32022 (2026-07-28, basic/versioning). For other
// errors it returns nil.
func unsupportedVersion(err error) *VersionError {
	if rpc, ok := errors.AsType[*protocol.RPCError](err); ok && rpc.Code == protocol.CodeUnsupportedVersion {
		return supportedBy(rpc)
	}
	return nil
}

// parseInitialize reads the result of a legacy initialize. Its error is a [*ProtocolError]. If only the version is
// unsupported, it wraps a [*VersionError].
func parseInitialize(result json.RawMessage) (Handshake, error) {
	m, err := parseObject(result)
	if err != nil {
		return Handshake{}, &ProtocolError{"an initialize result that is no object", err}
	}
	h := Handshake{
		Era: protocol.Legacy, Asks: true,
		ServerInfo: objectOrNil(m["serverInfo"]), Capabilities: objectOrNil(m["capabilities"]),
	}
	if json.Unmarshal(m["protocolVersion"], &h.Version) != nil || h.Version == "" {
		return Handshake{}, &ProtocolError{"an initialize result without a protocolVersion", nil}
	}
	if !slices.Contains(protocol.LegacyVersions(), h.Version) {
		return Handshake{}, &ProtocolError{"a version that is not ours", &VersionError{[]string{h.Version}}}
	}
	_ = json.Unmarshal(m["instructions"], &h.Instructions)
	return h, nil
}

// parseDiscover reads the result of a server/discover. If the server is modern but does not support 2026-07-28, the
// error is a [*VersionError]. Otherwise the error is a [*ProtocolError]: the server did not know the method.
func parseDiscover(result json.RawMessage) (Handshake, error) {
	m, err := parseObject(result)
	if err != nil {
		return Handshake{}, &ProtocolError{"a discover result that is no object", err}
	}
	if _, ok := m["supportedVersions"]; !ok {
		return Handshake{}, &ProtocolError{"a discover result without supportedVersions", nil}
	}
	supported := stringItems(m["supportedVersions"])
	if !slices.Contains(supported, protocol.VersionModern) {
		return Handshake{}, &VersionError{supported}
	}
	h := Handshake{
		Era: protocol.Modern, Version: protocol.VersionModern, Asks: true,
		Capabilities: objectOrNil(m["capabilities"]),
	}
	h.Dual = (&VersionError{supported}).legacy() != ""
	_ = json.Unmarshal(m["instructions"], &h.Instructions)
	h.ServerInfo = objectOrNil(m["serverInfo"]) // the place in the drafts
	if info, ok := wire.Lookup(m["_meta"], protocol.MetaServerInfo); ok {
		h.ServerInfo = objectOrNil(info)
	}
	return h, nil
}

// parseObject returns the members of a JSON object. Keys are compared exactly. Decoding into a struct would ignore
// case.
func parseObject(b json.RawMessage) (m map[string]json.RawMessage, err error) {
	err = json.Unmarshal(b, &m)
	return m, err
}

// objectOrNil returns b if it is an object.
func objectOrNil(b json.RawMessage) json.RawMessage {
	if len(b) == 0 || b[0] != '{' {
		return nil
	}
	return b
}

// stringItems returns the strings of a JSON array. Other elements are left out.
func stringItems(b json.RawMessage) []string {
	items, _ := wire.Elements(b)
	var out []string
	for _, item := range items {
		if s, ok := wire.Unquote(item); ok {
			out = append(out, s)
		}
	}
	return out
}
