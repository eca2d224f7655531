package host

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
)

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
	data := append([]byte(`{"supported":`), versionsJSON()...)
	data = append(append(data, `,"requested":`...), wire.Quote(version)...)
	a.err.Data = append(data, '}')
	return a
}

func versionsJSON() []byte {
	b, err := json.Marshal(supportedVersions())
	if err != nil { // strings: cannot be
		return []byte("[]")
	}
	return b
}

// described is what the backend says of itself.
type described struct {
	capabilities json.RawMessage
	instructions json.RawMessage // a string; nil: none
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
	if says = f.instructions + says; says != "" {
		d.instructions = wire.Quote(says)
	}
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
	b := append([]byte(`{"resultType":"complete","supportedVersions":`), versionsJSON()...)
	b = append(append(b, `,"capabilities":`...), d.capabilities...)
	if d.instructions != nil {
		b = append(append(b, `,"instructions":`...), d.instructions...)
	}
	b = append(append(b, `,"ttlMs":`...), d.ttl...)
	b = append(append(b, `,"cacheScope":`...), d.scope...)
	b = append(append(b, `,"_meta":{"`+protocol.MetaServerInfo+`":`...), f.info...)
	return frontAnswer{result: [][]byte{append(b, "}}"...)}}
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
	d, err := f.describe(ctx, r)
	if err != nil {
		return f.failure(ctx, r, err)
	}
	if r.session != nil {
		r.session.agree(version)
	}
	b := append([]byte(`{"protocolVersion":"`), version...)
	b = append(append(b, `","capabilities":`...), d.capabilities...)
	b = append(append(b, `,"serverInfo":`...), f.info...)
	if d.instructions != nil {
		b = append(append(b, `,"instructions":`...), d.instructions...)
	}
	return frontAnswer{result: [][]byte{append(b, '}')}}
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
