package conn

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/protocol"
)

func TestParseInitialize(t *testing.T) {
	h, err := parseInitialize(json.RawMessage(`{"protocolVersion":"2025-03-26","capabilities":{"b":1, "a":2},"serverInfo":{"name":"n","x":9007199254740993},"instructions":"i"}`))
	if err != nil || h.Era != protocol.Legacy || h.Version != "2025-03-26" || string(h.Capabilities) != `{"b":1, "a":2}` ||
		string(h.ServerInfo) != `{"name":"n","x":9007199254740993}` || h.Instructions != "i" {
		t.Errorf("%+v, %v", h, err)
	}
	h, err = parseInitialize(json.RawMessage(`{"protocolVersion":"2024-11-05","capabilities":null,"instructions":7}`))
	if err != nil || h.Capabilities != nil || h.ServerInfo != nil || h.Instructions != "" {
		t.Errorf("%+v, %v", h, err)
	}
	for s, other := range map[string]bool{ // other: a version that is not supported
		`{}`: false, `null`: false, `[]`: false, `{"protocolVersion":7}`: false, `{"ProtocolVersion":"2025-11-25"}`: false,
		`{"protocolVersion":"1.0"}`: true, `{"protocolVersion":"2026-07-28"}`: true,
	} {
		var bad *ProtocolError
		var version *VersionError
		if _, err := parseInitialize(json.RawMessage(s)); !errors.As(err, &bad) || errors.As(err, &version) != other {
			t.Errorf("%s: %v", s, err)
		}
	}
}

func TestParseDiscover(t *testing.T) {
	h, err := parseDiscover(json.RawMessage(`{"supportedVersions":["2099-01-01","2026-07-28"],"capabilities":{"a":1},"instructions":"i","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n"}},"serverInfo":{"name":"draft"}}`))
	if err != nil || h.Era != protocol.Modern || h.Version != protocol.VersionModern ||
		string(h.Capabilities) != `{"a":1}` || string(h.ServerInfo) != `{"name":"n"}` || h.Instructions != "i" {
		t.Errorf("%+v, %v", h, err)
	}
	h, _ = parseDiscover(json.RawMessage(`{"supportedVersions":["2026-07-28"],"serverInfo":{"name":"draft"}}`))
	if string(h.ServerInfo) != `{"name":"draft"}` {
		t.Errorf("%+v", h)
	}
	var bad *ProtocolError
	for _, s := range []string{`{}`, `null`, `[]`, `{"supportedversions":["2026-07-28"]}`} {
		if _, err := parseDiscover(json.RawMessage(s)); !errors.As(err, &bad) {
			t.Errorf("%s: %v", s, err)
		}
	}
	for s, want := range map[string]string{
		`["2025-03-26","2025-06-18","2099-01-01"]`: "2025-06-18", `["2099-01-01"]`: "", `[]`: "", `null`: "", `[null,7,"2025-11-25"]`: "2025-11-25",
	} {
		_, err := parseDiscover(json.RawMessage(`{"supportedVersions":` + s + `}`))
		var v *VersionError
		if !errors.As(err, &v) || v.legacy() != want {
			t.Errorf("%s: %v", s, err)
		}
	}
}

func TestOurSideOfTheHandshake(t *testing.T) {
	info := protocol.Info{Name: `a"b`, Version: "1"}
	if got := string(initializeRequest(Options{Info: info}, protocol.VersionLegacy).Params); got != `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a\"b","version":"1"}}` {
		t.Error(got)
	}
	if got := string(discoverRequest(Options{Info: info}).Params); got != `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"a\"b","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}` {
		t.Error(got)
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"a\x1b[31mb\n\tc\x00": "a[31mb c", "\u202eevil\u2066": "evil", " \u2028x ": "x", "héé": "héé", "\xff": "",
		strings.Repeat("x", 30):       strings.Repeat("x", 20) + "…",
		strings.Repeat("x", 19) + "é": strings.Repeat("x", 19) + "…",
	} {
		if got := protocol.Printable(in, 20); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}
