package schema_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// The reference is a simple normaliser. It decodes the whole text into a tree and rewrites that, without regard for
// speed. Fuzzing compares Normalize with it. A tree is a json.Number, a string, a bool, nil, an array or a pairs.
type (
	array []any
	pairs []pair // repeated keys are repeated
	pair  struct {
		key   string
		value any
	}
)

// decode reports false for malformed JSON.
func decode(raw []byte) (any, bool) {
	if !json.Valid(raw) || !bytes.Equal(bytes.ToValidUTF8(raw, nil), raw) {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return tree(d), true
}

func tree(d *json.Decoder) any {
	token, err := d.Token()
	if err != nil {
		panic(err)
	}
	switch token {
	case json.Delim('{'):
		object := pairs{}
		for d.More() {
			key := tree(d).(string)
			object = append(object, pair{key, tree(d)})
		}
		_, _ = d.Token()
		return object
	case json.Delim('['):
		list := array{}
		for d.More() {
			list = append(list, tree(d))
		}
		_, _ = d.Token()
		return list
	}
	return token
}

func emptyObject() pairs { return pairs{{"type", "object"}, {"properties", pairs{}}} }

func reference(value any, level int) pairs {
	object, ok := value.(pairs)
	if !ok || level > 1000 {
		return emptyObject()
	}
	object = unique(object)
	kind, _ := get(object, "type").(string)
	if !slices.Contains([]string{"object", "array", "string", "number", "integer", "boolean", "null"}, kind) {
		return emptyObject()
	}
	properties, _ := get(object, "properties").(pairs)
	properties = unique(properties)
	out := pairs{}
	for _, p := range object {
		keep := !strings.Contains("|$schema|$id|$ref|$defs|definitions|$comment|deprecated|readOnly|writeOnly|default|examples|"+
			"contentEncoding|contentMediaType|", "|"+p.key+"|") || strings.Contains(p.key, "|") || p.key == ""
		switch {
		case kind == "object" && p.key == "properties":
			p.value = each(properties, level+1)
		case kind == "object" && p.key == "required":
			names := declared(p.value, properties)
			p.value, keep = names, len(names) > 0
		case kind == "object" && p.key == "additionalProperties":
			switch p.value.(type) {
			case bool:
			case pairs:
				p.value = reference(p.value, level+1)
			default:
				keep = false
			}
		case kind == "array" && p.key == "items":
			p.value, keep = items(p.value, level+1)
		}
		if keep {
			out = append(out, p)
		}
	}
	if kind == "object" && get(out, "properties") == nil {
		out = append(out, pair{"properties", pairs{}})
	}
	return out
}

func each(properties pairs, level int) pairs {
	out := pairs{}
	for _, p := range properties {
		out = append(out, pair{p.key, reference(p.value, level)})
	}
	return out
}

func declared(required any, properties pairs) array {
	names, _ := required.(array)
	return slices.DeleteFunc(slices.Clone(names), func(v any) bool {
		name, ok := v.(string)
		return !ok || !slices.ContainsFunc(properties, func(p pair) bool { return p.key == name })
	})
}

func items(value any, level int) (any, bool) {
	if list, ok := value.(array); ok {
		if len(list) == 0 {
			return nil, false
		}
		value = list[0]
	}
	if _, ok := value.(bool); ok {
		return value, true
	}
	return reference(value, level), true
}

// get returns nil if the key is missing.
func get(object pairs, key string) any {
	for _, p := range object {
		if p.key == key {
			return p.value
		}
	}
	return nil
}

func unique(object pairs) pairs {
	var out pairs
	at := map[string]int{}
	for _, p := range object {
		if i, ok := at[p.key]; ok {
			out[i].value = p.value
			continue
		}
		at[p.key] = len(out)
		out = append(out, p)
	}
	return out
}

// size counts the depth and the nodes of a tree.
func size(value any) (depth, nodes int) {
	var inner []any
	switch v := value.(type) {
	case array:
		inner = v
	case pairs:
		for _, p := range v {
			inner = append(inner, p.value)
		}
	default:
		return 0, 1
	}
	nodes = 1
	for _, v := range inner {
		d, n := size(v)
		depth, nodes = max(depth, d), nodes+n
	}
	return depth + 1, nodes
}
