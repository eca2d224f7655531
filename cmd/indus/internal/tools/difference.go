package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/show"
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
func differences(was, now json.RawMessage) []difference {
	var d differing
	d.compare("", withoutHop(was), withoutHop(now))
	return d
}

// withoutHop is an answer as a value, without what each hop writes itself.
func withoutHop(answer json.RawMessage) any {
	d := json.NewDecoder(bytes.NewReader(answer))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return string(answer)
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
	return v
}

type differing []difference

func (d *differing) compare(path string, was, now any) {
	if len(*d) == maxDifferences || reflect.DeepEqual(was, now) {
		return
	}
	x, both := was.(map[string]any)
	y, ok := now.(map[string]any)
	if both && ok {
		keys := slices.Sorted(maps.Keys(x))
		for key := range maps.Keys(y) {
			if _, known := x[key]; !known {
				keys = append(keys, key)
			}
		}
		for _, key := range keys {
			d.compareMember(path+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(key), x, y, key)
		}
		return
	}
	a, both := was.([]any)
	b, ok := now.([]any)
	if both && ok && len(a) == len(b) {
		for i := range a {
			d.compare(fmt.Sprintf("%s/%d", path, i), a[i], b[i])
		}
		return
	}
	d.add(path, encodedValue(was), encodedValue(now))
}

func (d *differing) compareMember(path string, was, now map[string]any, key string) {
	x, before := was[key]
	y, after := now[key]
	switch {
	case before && after:
		d.compare(path, x, y)
	case before:
		d.add(path, encodedValue(x), nil)
	default:
		d.add(path, nil, encodedValue(y))
	}
}

func (d *differing) add(path string, was, now json.RawMessage) {
	if len(*d) < maxDifferences {
		*d = append(*d, difference{path, was, now})
	}
}

func encodedValue(v any) json.RawMessage {
	raw, _ := json.Marshal(v) // it was JSON
	return raw
}
