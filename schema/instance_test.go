package schema_test

import (
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// grower makes values that a schema probably accepts. A validator then selects the values that it does accept. It reads
// schemas of every draft, because schemas adapted to lenient profiles may have any keyword.
type grower struct {
	*rand.Rand
	root  any
	parts int // schemas read for the current value
}

// instances returns up to n different values that the validator accepts.
func instances(r *rand.Rand, schema any, takes func(any) bool, n int) []any {
	g := &grower{Rand: r, root: schema}
	var out []any
	seen := map[string]bool{}
	for try := 0; try < 4*n && len(out) < n; try++ {
		g.parts = 0
		value := g.grow(0, schema)
		if try%4 == 3 && len(out) > 0 {
			value = g.mutate(out[g.IntN(len(out))])
		}
		b, err := json.Marshal(value)
		if err != nil || seen[string(b)] || !takes(value) {
			continue
		}
		seen[string(b)] = true
		out = append(out, value)
	}
	return out
}

// maxParts bounds the number of schemas read for one value.
const maxParts = 400

// grow makes a value for all schemas at once.
func (g *grower) grow(depth int, schemas ...any) any {
	parts, never := g.flatten(nil, 0, schemas...)
	if never {
		return nil
	}
	if v, ok := g.given(parts); ok {
		return v
	}
	kind := g.kind(parts)
	if depth > 12 {
		kind = "null"
	}
	switch kind {
	case "object":
		return g.object(depth, parts)
	case "array":
		return g.array(depth, parts)
	case "string":
		return g.string(parts)
	case "number", "integer":
		return g.number(parts, kind)
	case "boolean":
		return g.IntN(2) == 0
	}
	return nil
}

// flatten lists the objects among the schemas. It adds the schemas from allOf and $ref, and one branch of each union.
func (g *grower) flatten(parts []map[string]any, level int, schemas ...any) (_ []map[string]any, never bool) {
	for _, s := range schemas {
		if s == false {
			return parts, true
		}
		m, ok := s.(map[string]any)
		g.parts++
		if !ok || level > 20 || g.parts > maxParts {
			continue
		}
		parts = append(parts, m)
		var inner []any
		if all, ok := m["allOf"].([]any); ok {
			inner = append(inner, all...)
		}
		for _, union := range []string{"anyOf", "oneOf"} {
			if of, ok := m[union].([]any); ok && len(of) > 0 {
				inner = append(inner, of[g.IntN(len(of))])
			}
		}
		if ref, ok := m["$ref"].(string); ok {
			inner = append(inner, g.follow(ref))
		}
		if then, ok := m["then"]; ok && g.IntN(2) == 0 {
			inner = append(inner, then)
		}
		if parts, never = g.flatten(parts, level+1, inner...); never {
			return parts, true
		}
	}
	return parts, false
}

// follow returns the target of a reference into the document, or nil.
func (g *grower) follow(ref string) any {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	if unescaped, err := url.PathUnescape(path); err == nil {
		path = unescaped
	}
	at := g.root
	for _, step := range strings.Split(path, "/")[1:] {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch v := at.(type) {
		case map[string]any:
			at = v[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(v) {
				return nil
			}
			at = v[i]
		}
	}
	return at
}

// given returns a value that the schema lists.
func (g *grower) given(parts []map[string]any) (any, bool) {
	for _, p := range parts {
		if v, ok := p["const"]; ok {
			return v, true
		}
	}
	for _, p := range parts {
		if of, ok := p["enum"].([]any); ok && len(of) > 0 {
			return of[g.IntN(len(of))], true
		}
	}
	return nil, false
}

// kind returns a type that every part accepts.
func (g *grower) kind(parts []map[string]any) string {
	all := []string{"object", "array", "string", "integer", "number", "boolean", "null"}
	named := false
	for _, p := range parts {
		if p["nullable"] == true && g.IntN(4) == 0 {
			return "null"
		}
		var own []string
		switch t := p["type"].(type) {
		case string:
			own = []string{t}
		case []any:
			for _, e := range t {
				if s, ok := e.(string); ok {
					own = append(own, s)
				}
			}
		default:
			continue
		}
		named = true
		all = slices.DeleteFunc(all, func(kind string) bool {
			return !slices.Contains(own, kind) && !(kind == "integer" && slices.Contains(own, "number"))
		})
	}
	if !named {
		for _, p := range parts {
			switch {
			case p["properties"] != nil || p["required"] != nil || p["additionalProperties"] != nil:
				return "object"
			case p["items"] != nil || p["prefixItems"] != nil:
				return "array"
			}
		}
	}
	if len(all) == 0 {
		return "null"
	}
	return all[g.IntN(len(all))]
}

func (g *grower) object(depth int, parts []map[string]any) any {
	out := map[string]any{}
	declared := map[string][]any{}
	required := map[string]bool{}
	open := true
	var rest []any
	for _, p := range parts {
		if named, ok := p["properties"].(map[string]any); ok {
			for k, s := range named {
				declared[k] = append(declared[k], s)
			}
		}
		if names, ok := p["required"].([]any); ok {
			for _, n := range names {
				if s, ok := n.(string); ok {
					required[s] = true
				}
			}
		}
		switch extra := p["additionalProperties"].(type) {
		case bool:
			open = open && extra
		case map[string]any:
			rest = append(rest, extra)
		}
		open = open && p["unevaluatedProperties"] != false
	}
	for k := range required {
		if _, ok := declared[k]; !ok {
			declared[k] = rest
		}
	}
	for _, k := range slices.Sorted(maps.Keys(declared)) {
		if required[k] || depth < 6 && g.IntN(5) < 3 {
			out[k] = g.grow(depth+1, declared[k]...)
		}
	}
	if open && depth < 6 {
		for range g.IntN(3) {
			key := []string{"extra", "x-more", "a", "b", "red", "other"}[g.IntN(6)]
			if _, ok := declared[key]; !ok && (len(rest) > 0 || g.IntN(3) == 0) {
				out[key] = g.grow(depth+1, rest...)
			}
		}
	}
	return out
}

func (g *grower) array(depth int, parts []map[string]any) any {
	low, high := 0, 3
	var items []any
	var tuple [][]any
	for _, p := range parts {
		low = max(low, int(number(p["minItems"], 0)))
		high = min(high, int(number(p["maxItems"], 3)))
		first, _ := p["prefixItems"].([]any)
		if list, ok := p["items"].([]any); ok {
			first = list
			items = append(items, p["additionalItems"])
		} else if p["items"] != nil {
			items = append(items, p["items"])
		}
		for i, s := range first {
			if i >= len(tuple) {
				tuple = append(tuple, nil)
			}
			tuple[i] = append(tuple[i], s)
		}
		if c, ok := p["contains"]; ok {
			tuple, low = append(tuple, []any{c}), max(low, 1)
		}
	}
	items = slices.DeleteFunc(items, func(s any) bool { return s == nil })
	if slices.Contains(items, any(false)) {
		high = min(high, len(tuple))
	}
	n := low
	if high = max(high, low); depth < 6 {
		n += g.IntN(high - low + 1)
	}
	out := []any{}
	for i := range min(n, 8) {
		if i < len(tuple) {
			out = append(out, g.grow(depth+1, tuple[i]...))
			continue
		}
		out = append(out, g.grow(depth+1, items...))
	}
	return out
}

func (g *grower) string(parts []map[string]any) any {
	low := 0
	for _, p := range parts {
		low = max(low, int(number(p["minLength"], 0)))
	}
	samples := []string{"", "a", "b", "abc", "x", "12", "red", "2026-01-02T03:04:05Z", "a@example.org", "https://example.org/x", "ünï"}
	s := samples[g.IntN(len(samples))]
	return s + strings.Repeat("a", max(0, min(low, 100)-len(s)))
}

func (g *grower) number(parts []map[string]any, kind string) any {
	low, high, step := math.Inf(-1), math.Inf(1), 0.0
	for _, p := range parts {
		low = max(low, number(p["minimum"], low), number(p["exclusiveMinimum"], low))
		high = min(high, number(p["maximum"], high), number(p["exclusiveMaximum"], high))
		step = max(step, number(p["multipleOf"], 0))
	}
	n := []float64{0, 1, 2, 3, 5, 10, 100, -1, -5, 1000}[g.IntN(10)]
	switch {
	case n < low:
		n = low + float64(g.IntN(3))
	case n > high:
		n = high - float64(g.IntN(3))
	}
	if step > 0 {
		n = math.Round(n/step) * step
	}
	if kind == "number" && g.IntN(3) == 0 && step == 0 {
		n += 0.25
	}
	return json.Number(strconv.FormatFloat(n, 'f', -1, 64))
}

// number returns the value of a number, or none if v is not a number.
func number(v any, none float64) float64 {
	n, ok := v.(json.Number)
	if !ok {
		return none
	}
	f, err := n.Float64()
	if err != nil {
		return none
	}
	return f
}

// mutate changes one place of a value.
func (g *grower) mutate(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := maps.Clone(v)
		keys := slices.Sorted(maps.Keys(v))
		if len(keys) == 0 {
			return out
		}
		key := keys[g.IntN(len(keys))]
		if g.IntN(3) == 0 {
			delete(out, key)
		} else {
			out[key] = g.mutate(v[key])
		}
		return out
	case []any:
		out := slices.Clone(v)
		if len(out) == 0 || g.IntN(4) == 0 {
			return append(out, "a")
		}
		i := g.IntN(len(out))
		out[i] = g.mutate(out[i])
		return out
	}
	return []any{nil, "a", "1", json.Number("1"), json.Number("1.5"), true, []any{}, map[string]any{}, []any{"a"}, map[string]any{"a": "a"}}[g.IntN(10)]
}
