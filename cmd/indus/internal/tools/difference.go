package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/ledger"
)

// difference is a place in which two answers differ.
type difference struct {
	Path string          `json:"path"`
	Was  json.RawMessage `json:"was,omitempty"` // absent: nothing was there
	Now  json.RawMessage `json:"now,omitempty"`
}

func (d difference) String() string {
	part := func(raw json.RawMessage) string {
		if raw == nil {
			return "nothing"
		}
		return show.Cut(string(raw), 80)
	}
	return fmt.Sprintf("%s: was %s, is %s", d.Path, part(d.Was), part(d.Now))
}

// maxDifferences is how many are shown of one answer.
const maxDifferences = 5

// differences compares two answers but for what belongs to the hop.
func differences(was, now json.RawMessage) (out []difference) {
	fields := ledger.Fields(withoutHop(was), withoutHop(now))
	for _, f := range fields[:min(len(fields), maxDifferences)] {
		out = append(out, difference{f.Path, f.Before, f.After})
	}
	return out
}

// withoutHop is an answer without what each hop writes itself, and what no answer can be as a string.
func withoutHop(answer json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(answer))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return text.Quote(string(answer))
	}
	object, _ := v.(map[string]any)
	for _, key := range []string{"resultType", "ttlMs", "cacheScope"} {
		delete(object, key)
	}
	if meta, ok := object["_meta"].(map[string]any); ok {
		maps.DeleteFunc(meta, func(key string, _ any) bool { return strings.HasPrefix(key, "io.modelcontextprotocol/") })
		if len(meta) == 0 {
			delete(object, "_meta")
		}
	}
	if rpc, ok := object["error"].(map[string]any); ok && rpc["data"] == nil {
		delete(rpc, "data")
	}
	raw, _ := json.Marshal(v) // it was JSON
	return raw
}
