package protocol

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/indusagi/indus/internal/keyword"
	"github.com/indusagi/indus/internal/wire"
)

// ParamHeader is one x-mcp-header annotation of a tool's input schema: the argument at Path is also sent in the
// header Mcp-Param-Name (2026-07-28, basic/transports/streamable-http, "Custom Headers from Tool Parameters").
type ParamHeader struct {
	Path []string
	Name string
}

const (
	keyParamHeader  = "x-mcp-header"
	MaxParamHeaders = 64 // more would exceed a server's header limits anyway
	maxSafeInteger  = 1<<53 - 1
)

// ParamHeaders finds the annotations of an input schema. An error gives the reason why the tool must not be
// offered over HTTP.
func ParamHeaders(schema json.RawMessage) ([]ParamHeader, error) {
	if !bytes.Contains(schema, []byte("mcp-header")) && !bytes.Contains(schema, []byte(`\u`)) {
		return nil, nil
	}
	var root any
	if err := json.Unmarshal(schema, &root); err != nil {
		return nil, err
	}
	var w paramWalk
	if err := w.visit(root, nil, true); err != nil {
		return nil, err
	}
	return w.found, nil
}

type paramWalk struct{ found []ParamHeader }

// visit checks one schema. Annotations count only if a chain of "properties" alone leads to them. Anywhere else
// they make the tool invalid.
func (w *paramWalk) visit(schema any, path []string, reachable bool) error {
	s, ok := schema.(map[string]any)
	if !ok {
		return nil
	}
	if header, ok := s[keyParamHeader]; ok {
		if !reachable || len(path) == 0 {
			return errors.New("x-mcp-header where no argument can be named")
		}
		if err := w.add(header, s["type"], path); err != nil {
			return fmt.Errorf("x-mcp-header of %s: %w", Printable(strings.Join(path, "."), 80), err)
		}
	}
	if properties, ok := s["properties"].(map[string]any); ok {
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			if err := w.visit(properties[name], append(slices.Clip(path), name), reachable); err != nil {
				return err
			}
		}
	}
	for key, value := range s {
		if key == "properties" {
			continue
		}
		for sub := range keyword.Schemas(key, value) {
			if err := w.visit(sub, path, false); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *paramWalk) add(header, typ any, path []string) error {
	name, ok := header.(string)
	if !ok || name == "" {
		return errors.New("not a string, or empty")
	}
	for i := range len(name) {
		if !tokenByte(name[i]) {
			return fmt.Errorf("%q is no header name", Printable(name, 80))
		}
	}
	if !primitiveType(typ) {
		return errors.New("only a string, an integer or a boolean can be a header")
	}
	for _, existing := range w.found {
		if strings.EqualFold(existing.Name, name) {
			return fmt.Errorf("%q is used twice", name)
		}
	}
	if len(w.found) == MaxParamHeaders {
		return fmt.Errorf("more than %d headers", MaxParamHeaders)
	}
	w.found = append(w.found, ParamHeader{Path: path, Name: name})
	return nil
}

// primitiveType reports whether a header can carry values of a schema's type. The type may include null, because a
// null argument has no header.
func primitiveType(typ any) bool {
	list, ok := typ.([]any)
	if !ok {
		return typ == "string" || typ == "integer" || typ == "boolean"
	}
	primitives := 0
	for _, t := range list {
		if t == "null" {
			continue
		}
		if !primitiveType(t) {
			return false
		}
		primitives++
	}
	return primitives > 0
}

// tokenByte reports whether a header's name may contain the byte (RFC 9110, section 5.6.2).
func tokenByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

// PrimitiveText returns a string, a boolean or a safe integer as the text of a header.
func PrimitiveText(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 {
		return "", false
	}
	switch c := raw[0]; {
	case c == '"':
		return wire.Unquote(raw)
	case string(raw) == "true" || string(raw) == "false":
		return string(raw), true
	case c == '-' || c >= '0' && c <= '9':
		f, err := strconv.ParseFloat(string(raw), 64)
		if err != nil || f > maxSafeInteger || f < -maxSafeInteger || f != float64(int64(f)) {
			return "", false
		}
		return strconv.FormatInt(int64(f), 10), true
	}
	return "", false
}

const (
	SentinelPrefix = "=?base64?"
	SentinelSuffix = "?="
)

// HeaderText returns s as the value of Mcp-Name or Mcp-Param-*. If every hop passes s unchanged, it is s itself.
// Otherwise it is encoded in base64 (2026-07-28, "Value Encoding"). An empty value is encoded too, because many
// servers cannot distinguish an empty header from a missing one.
func HeaderText(s string) string {
	plain := s != "" && s[0] != ' ' && s[len(s)-1] != ' ' &&
		!(strings.HasPrefix(s, SentinelPrefix) && strings.HasSuffix(s, SentinelSuffix))
	for i := 0; plain && i < len(s); i++ {
		plain = s[i] >= ' ' && s[i] <= '~'
	}
	if plain {
		return s
	}
	return SentinelPrefix + base64.StdEncoding.EncodeToString([]byte(s)) + SentinelSuffix
}

// DecodeHeader undoes [HeaderText]. It refuses a value with characters outside of visible ASCII, spaces and tabs.
func DecodeHeader(s string) (string, bool) {
	for i := range len(s) {
		if (s[i] < ' ' || s[i] > '~') && s[i] != '\t' {
			return "", false
		}
	}
	in, begins := strings.CutPrefix(s, SentinelPrefix)
	in, ends := strings.CutSuffix(in, SentinelSuffix)
	if !begins || !ends {
		return s, true
	}
	b, err := base64.StdEncoding.Strict().DecodeString(in)
	return string(b), err == nil
}

// OneHeader returns a header that has one value. If two values differ, it is not known which one an intermediary has
// read, and the header is ignored.
func OneHeader(h http.Header, canonical string) (string, bool) {
	values := h[canonical]
	if len(values) == 0 || slices.ContainsFunc(values, func(v string) bool { return v != values[0] }) {
		return "", false
	}
	return values[0], true
}

// maxForwarded bounds the names and values of one request's forwarded headers, in bytes. Servers accept that many
// for all headers together.
const maxForwarded = 8 << 10

// PickHeaders returns the headers of a request with these names, in the form of [http.CanonicalHeaderKey]. It
// returns nil if there are none, or if they have more than 8 KiB together.
func PickHeaders(from http.Header, names []string) http.Header {
	var out http.Header
	size := 0
	for _, name := range names {
		for _, value := range from[name] {
			if strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
				continue // net/http cannot send such a value, but other front ends may
			}
			size += len(name) + len(value)
			if size > maxForwarded {
				return nil
			}
			if out == nil {
				out = http.Header{}
			}
			out[name] = append(out[name], value)
		}
	}
	return out
}
