package schema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/schema"
)

// hostile returns the seeds of the fuzzers: every edge case, and every shape, small and truncated.
func hostile() [][]byte {
	var seeds [][]byte
	for _, c := range edges {
		seeds = append(seeds, []byte(c.input), []byte(c.want))
	}
	for _, s := range shapes {
		whole := []byte(s.make(2000))
		if len(whole) > 1<<16 {
			whole = whole[:1<<16]
		}
		seeds = append(seeds, whole, whole[:len(whole)/2])
	}
	return append(seeds, []byte(nest(10_001, "[", "]", "")), []byte(nest(1001, `{"type":"array","items":`, `}`, `1`)))
}

// half matches an escaped half of a surrogate pair. encoding/json, and therefore the reference, does not distinguish
// such halves.
var half = regexp.MustCompile(`(?i)\\ud[89a-f]`)

func FuzzNormalize(f *testing.F) {
	for _, seed := range hostile() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		before := bytes.Clone(input)
		once := schema.Normalize(input)
		if !bytes.Equal(before, input) {
			t.Fatal("the input was changed")
		}
		if twice := schema.Normalize(once); !bytes.Equal(once, twice) {
			t.Fatalf("not idempotent:\n%s\n%s", once, twice)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, once); err != nil || !bytes.Equal(compact.Bytes(), once) {
			t.Fatalf("not compact JSON: %v\n%s", err, once)
		}
		got, ok := decode(once)
		if !ok {
			t.Fatalf("not JSON: %q", once)
		}
		root, _ := got.(pairs)
		if kind, _ := get(root, "type").(string); kind == "" {
			t.Fatalf("no object with a type: %s", once)
		}
		if half.Match(input) {
			return
		}
		value, _ := decode(input) // nil for malformed JSON
		want := reference(value, 1)
		if !reflect.DeepEqual(any(want), got) { // cmp.Diff takes minutes for deep trees
			t.Fatalf("not as the reference, -want +got:\n%s", cmp.Diff(any(want), got, cmp.AllowUnexported(pair{})))
		}
	})
}

func FuzzMeasure(f *testing.F) {
	for i, seed := range hostile() {
		f.Add(seed, i%9, i%7*10, i%5*100)
	}
	f.Fuzz(func(t *testing.T, input []byte, depth, nodes, length int) {
		limits := schema.Limits{Depth: depth, Nodes: nodes, Bytes: length}
		before := bytes.Clone(input)
		err := schema.Measure(input, limits)
		if !bytes.Equal(before, input) {
			t.Fatal("the input was changed")
		}
		value, valid := decode(input)
		if !valid {
			if err == nil {
				t.Fatal("malformed, yet no error")
			}
			return
		}
		if errors.Is(err, schema.ErrMalformed) {
			t.Fatalf("well-formed, yet %v", err)
		}
		exceeded := exceeded(value, len(input), limits)
		if err == nil {
			if len(exceeded) > 0 {
				t.Fatalf("no error, yet %v is exceeded", exceeded)
			}
			return
		}
		var over *schema.LimitError
		if !errors.As(err, &over) || !slices.Contains(exceeded, over.Bound) {
			t.Fatalf("%v, want one of %v", err, exceeded)
		}
		if over.Found <= over.Limit || over.Offset > len(input) || len(over.Pointer) > 260 {
			t.Fatalf("%#v", over)
		}
	})
}

// exceeded lists the bounds that a value exceeds.
func exceeded(value any, length int, limits schema.Limits) []string {
	depth, nodes := size(value)
	var out []string
	over := func(bound string, found, limit, standard int) {
		if limit == 0 {
			limit = standard
		}
		if limit > 0 && found > limit {
			out = append(out, bound)
		}
	}
	over("bytes", length, limits.Bytes, schema.DefaultBytes)
	over("nodes", nodes, limits.Nodes, schema.DefaultNodes)
	over("depth", depth, limits.Depth, schema.DefaultDepth)
	return out
}
