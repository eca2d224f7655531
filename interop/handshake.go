package interop

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
)

// handshake is what a server said of itself when the connection opened.
type handshake struct {
	era          Era
	version      string          // the revision that was agreed on
	serverInfo   json.RawMessage // an object as its owner wrote it; nil: not told
	capabilities json.RawMessage // likewise
	instructions string
}

// protocolError says that a peer sent what the protocol does not allow. The
// endpoint makes a fault of kind Protocol of it.
type protocolError struct {
	what  string // "a result that is not valid JSON"
	cause error  // nil: none
}

func (e *protocolError) Error() string {
	if e.cause == nil {
		return "protocol: " + e.what
	}
	return "protocol: " + e.what + ": " + e.cause.Error()
}

func (e *protocolError) Unwrap() error { return e.cause }

// versionError says that a server speaks no revision that was asked for. With
// legacy, the one who probes can see whether a handshake may do better.
type versionError struct{ supported []string }

func (e *versionError) Error() string {
	if len(e.supported) == 0 {
		return "the server names no protocol version that it supports"
	}
	return "the server supports only protocol versions " + protocol.Printable(strings.Join(e.supported, ", "), 200)
}

// legacy is the newest of our legacy versions that the server supports; "" where there is none.
func (e *versionError) legacy() string {
	for _, v := range protocol.LegacyVersions() {
		if slices.Contains(e.supported, v) {
			return v
		}
	}
	return ""
}

// unsupportedVersion makes a versionError of the server's error -32022; nil
// where err is none (2026-07-28, basic/versioning).
func unsupportedVersion(err *RPCError) *versionError {
	if err == nil || err.Code != protocol.CodeUnsupportedVersion {
		return nil
	}
	var data map[string]json.RawMessage
	_ = json.Unmarshal(err.Data, &data)
	return &versionError{supported: stringList(data["supported"])}
}

// initializeParams is the params of a legacy initialize. We declare no
// capabilities: nobody here can be asked.
func initializeParams(info Info, version string) json.RawMessage {
	b := append([]byte(`{"protocolVersion":`), wire.Quote(version)...)
	b = append(b, `,"capabilities":{},"clientInfo":`...)
	return append(append(b, protocol.EncodeInfo(info)...), '}')
}

// modernMeta is the object that _meta of every modern request holds: our
// reserved keys and nothing else (2026-07-28, basic/index, "_meta").
func modernMeta(info Info) json.RawMessage {
	b := append([]byte(`{"`+protocol.MetaVersion+`":"`+protocol.VersionModern+`","`+protocol.MetaClientInfo+`":`), protocol.EncodeInfo(info)...)
	return append(b, `,"`+protocol.MetaClientCaps+`":{}}`...)
}

// discoverParams is the params of a server/discover.
func discoverParams(info Info) json.RawMessage {
	return append(append([]byte(`{"_meta":`), modernMeta(info)...), '}')
}

// parseInitialize reads the result of a legacy initialize. Its error is a
// [*protocolError], around a [*versionError] where only the version is not ours.
func parseInitialize(result json.RawMessage) (handshake, error) {
	m, err := object(result)
	if err != nil {
		return handshake{}, &protocolError{"an initialize result that is no object", err}
	}
	h := handshake{era: Legacy, serverInfo: objectOrNil(m["serverInfo"]), capabilities: objectOrNil(m["capabilities"])}
	if json.Unmarshal(m["protocolVersion"], &h.version) != nil || h.version == "" {
		return handshake{}, &protocolError{"an initialize result without a protocolVersion", nil}
	}
	if !slices.Contains(protocol.LegacyVersions(), h.version) {
		return handshake{}, &protocolError{"a version that is not ours", &versionError{[]string{h.version}}}
	}
	_ = json.Unmarshal(m["instructions"], &h.instructions)
	return h, nil
}

// parseDiscover reads the result of a server/discover. The error is a
// [*versionError] where the server is modern and yet not of 2026-07-28, else a
// [*protocolError]: then whoever answered did not know the question.
func parseDiscover(result json.RawMessage) (handshake, error) {
	m, err := object(result)
	if err != nil {
		return handshake{}, &protocolError{"a discover result that is no object", err}
	}
	if _, ok := m["supportedVersions"]; !ok {
		return handshake{}, &protocolError{"a discover result without supportedVersions", nil}
	}
	supported := stringList(m["supportedVersions"])
	if !slices.Contains(supported, protocol.VersionModern) {
		return handshake{}, &versionError{supported}
	}
	h := handshake{era: Modern, version: protocol.VersionModern, capabilities: objectOrNil(m["capabilities"])}
	_ = json.Unmarshal(m["instructions"], &h.instructions)
	h.serverInfo = objectOrNil(m["serverInfo"]) // where the drafts had it
	if meta, err := object(m["_meta"]); err == nil && meta[protocol.MetaServerInfo] != nil {
		h.serverInfo = objectOrNil(meta[protocol.MetaServerInfo])
	}
	return h, nil
}

// object is the members of a JSON object. Keys are compared exactly, which
// decoding into a struct would not do.
func object(b json.RawMessage) (map[string]json.RawMessage, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, err
	}
	return m, nil
}

// objectOrNil is b where it is an object.
func objectOrNil(b json.RawMessage) json.RawMessage {
	if len(b) == 0 || b[0] != '{' {
		return nil
	}
	return b
}

// stringList is the strings of a JSON array; what is no string is left out.
func stringList(b json.RawMessage) []string {
	var raw []json.RawMessage
	_ = json.Unmarshal(b, &raw)
	var out []string
	for _, r := range raw {
		var s *string
		if json.Unmarshal(r, &s) == nil && s != nil {
			out = append(out, *s)
		}
	}
	return out
}
