package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
)

// CheckHeader returns an error if the Mcp-Param-* headers of a tools/call do not match its arguments; see
// host.HeaderChecker.
func (t *Backend) CheckHeader(_ context.Context, m interop.Message, h http.Header) error {
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
		if isRepeated(value, key) {
			return fmt.Errorf("the argument %q stands twice", strings.Join(p.Path, "."))
		}
		value, found = wire.Lookup(value, key)
		if !found {
			break
		}
	}
	raw, sent := protocol.OneHeader(h, http.CanonicalHeaderKey(header))
	if !found || string(value) == "null" {
		if sent {
			return fmt.Errorf("the %s header is there, its argument %q is not", header, strings.Join(p.Path, "."))
		}
		return nil
	}
	if !sent {
		return fmt.Errorf("the %s header is missing", header)
	}
	got, ok := protocol.DecodeHeader(raw)
	if !ok {
		return fmt.Errorf("the %s header has an invalid value", header)
	}
	want, ok := protocol.PrimitiveText(value)
	if !ok || got != want && !sameInteger(got, value) {
		return fmt.Errorf("the %s header does not match the argument %q", header, strings.Join(p.Path, "."))
	}
	return nil
}

// isRepeated reports whether a key occurs twice. Then it is not known which value the server reads.
func isRepeated(obj json.RawMessage, key string) bool {
	members, _ := wire.Members(obj)
	isKey := func(m wire.Member) bool { return m.Key == key }
	first := slices.IndexFunc(members, isKey)
	return first >= 0 && slices.ContainsFunc(members[first+1:], isKey)
}

// sameInteger compares numerically, as the specification requires: 42.0 is 42.
func sameInteger(got string, value json.RawMessage) bool {
	if value[0] == '"' {
		return false
	}
	a, errA := strconv.ParseFloat(got, 64)
	b, errB := strconv.ParseFloat(string(value), 64)
	return errA == nil && errB == nil && a == b
}
