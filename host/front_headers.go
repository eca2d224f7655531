package host

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
)

// checkStandard says why the Mcp-Method and Mcp-Name headers of a modern
// request do not match its body (SEP-2243).
func checkStandard(h http.Header, method string, params json.RawMessage) error {
	switch got, ok := headerValue(h, protocol.HeaderMethod); {
	case !ok:
		return fmt.Errorf("the %s header is missing", protocol.HeaderMethod)
	case got != method:
		return fmt.Errorf("the %s header says %q, the body %q", protocol.HeaderMethod, got, method)
	}
	key := ""
	switch method {
	case protocol.MethodToolsCall, "prompts/get":
		key = "name"
	case "resources/read":
		key = "uri"
	default:
		return nil
	}
	raw, ok := headerValue(h, protocol.HeaderName)
	if !ok {
		return fmt.Errorf("the %s header is missing", protocol.HeaderName)
	}
	got, ok := decodeHeader(raw)
	if !ok {
		return fmt.Errorf("the %s header has an invalid value", protocol.HeaderName)
	}
	if want, ok := protocol.LookupString(params, key); ok && got != want {
		return fmt.Errorf("the %s header says %q, the body %q", protocol.HeaderName, got, want)
	}
	return nil
}

// CheckHeader says why the Mcp-Param-* headers of a tools/call do not match its
// arguments; see [NewFront].
func (t *toolsBackend) CheckHeader(m interop.Message, h http.Header) error {
	if m.Method != protocol.MethodToolsCall {
		return nil
	}
	l := t.list(m.Caller)
	if l.headers == nil {
		return nil
	}
	name, _ := protocol.LookupString(m.Params, "name")
	args, _ := wire.Lookup(m.Params, "arguments")
	for _, p := range l.headers[name] {
		if err := checkParam(p, h, args); err != nil {
			return err
		}
	}
	return nil
}

// checkParam compares one argument with its header.
func checkParam(p protocol.ParamHeader, h http.Header, args json.RawMessage) error {
	header := protocol.HeaderParam + p.Name
	value, found := args, true
	for _, key := range p.Path {
		if several(value, key) {
			return fmt.Errorf("the argument %q stands twice", strings.Join(p.Path, "."))
		}
		if value, found = wire.Lookup(value, key); !found {
			break
		}
	}
	raw, sent := headerValue(h, http.CanonicalHeaderKey(header))
	if !found || string(value) == "null" {
		if sent {
			return fmt.Errorf("the %s header is there, its argument %q is not", header, strings.Join(p.Path, "."))
		}
		return nil
	}
	if !sent {
		return fmt.Errorf("the %s header is missing", header)
	}
	got, ok := decodeHeader(raw)
	if !ok {
		return fmt.Errorf("the %s header has an invalid value", header)
	}
	want, ok := protocol.PrimitiveText(value)
	if !ok || got != want && !sameInteger(got, value) {
		return fmt.Errorf("the %s header does not match the argument %q", header, strings.Join(p.Path, "."))
	}
	return nil
}

// several reports a key that stands twice: nobody could say which one the
// server reads.
func several(obj json.RawMessage, key string) bool {
	members, _ := wire.Members(obj)
	n := 0
	for i := range members {
		if members[i].Key == key {
			n++
		}
	}
	return n > 1
}

// sameInteger compares numerically, as the specification wishes: 42.0 is 42.
func sameInteger(got string, value json.RawMessage) bool {
	if value[0] == '"' {
		return false
	}
	a, errA := strconv.ParseFloat(got, 64)
	b, errB := strconv.ParseFloat(string(value), 64)
	return errA == nil && errB == nil && a == b
}

// headerValue is a header that stands there once. Of two that differ nobody
// could say which one an intermediary has read.
func headerValue(h http.Header, canonical string) (string, bool) {
	values := h[canonical]
	if len(values) == 0 {
		return "", false
	}
	for _, v := range values[1:] {
		if v != values[0] {
			return "", false
		}
	}
	return values[0], true
}

// decodeHeader undoes the base64 form of a header's value. What is not visible
// ASCII must not stand in a header as it is.
func decodeHeader(s string) (string, bool) {
	for i := range len(s) {
		if (s[i] < ' ' || s[i] > '~') && s[i] != '\t' {
			return "", false
		}
	}
	in, ok := strings.CutPrefix(s, protocol.SentinelPrefix)
	if !ok {
		return s, true
	}
	if in, ok = strings.CutSuffix(in, protocol.SentinelSuffix); !ok {
		return s, true
	}
	b, err := base64.StdEncoding.Strict().DecodeString(in)
	if err != nil {
		return "", false
	}
	return string(b), true
}
