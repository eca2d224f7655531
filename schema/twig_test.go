package schema_test

import (
	"encoding/json"
	"slices"
	"strings"
)

// twig is a tree of a JSON text. It keeps the order of keys, repeated keys and escapes, which a decoder loses.
type twig struct {
	kind byte     // '{', '[', or 0
	own  string   // if kind is 0
	keys []string // of an object, quoted
	kids []*twig
}

func raw(s string) *twig          { return &twig{own: s} }
func str(s string) *twig          { return raw(quote(s)) }
func arr(elements ...*twig) *twig { return &twig{kind: '[', kids: elements} }

// obj takes keys and values in turn.
func obj(pairs ...any) *twig {
	o := &twig{kind: '{'}
	for i := 0; i < len(pairs); i += 2 {
		o.set(pairs[i].(string), pairs[i+1].(*twig))
	}
	return o
}

func quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)
	return strings.TrimSuffix(b.String(), "\n")
}

func escapePointer(s string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "%", "%25", " ", "%20").Replace(s)
}

func (t *twig) add(element *twig) { t.kids = append(t.kids, element) }

func (t *twig) set(key string, value *twig) {
	quoted := quote(key)
	if i := slices.Index(t.keys, quoted); i >= 0 {
		t.kids[i] = value
		return
	}
	t.keys, t.kids = append(t.keys, quoted), append(t.kids, value)
}

func (t *twig) prepend(key string, value *twig) {
	if t.kind == '{' {
		t.keys, t.kids = slices.Insert(t.keys, 0, quote(key)), slices.Insert(t.kids, 0, value)
	}
}

func (t *twig) get(key string) *twig {
	if i := slices.Index(t.keys, quote(key)); i >= 0 {
		return t.kids[i]
	}
	return nil
}

// has reports whether an array contains the literal.
func (t *twig) has(literal string) bool {
	return slices.ContainsFunc(t.kids, func(k *twig) bool { return k.own == literal })
}

// all returns the nodes of the tree, the root first. Generated trees may share nodes.
func (t *twig) all() []*twig {
	list := []*twig{t}
	for _, k := range t.kids {
		list = append(list, k.all()...)
	}
	return list
}

func (t *twig) String() string { return string(t.bytes()) }

func (t *twig) bytes() []byte { return t.write(nil) }

func (t *twig) write(b []byte) []byte {
	if t.kind == 0 {
		return append(b, t.own...)
	}
	b = append(b, t.kind)
	for i, k := range t.kids {
		if i > 0 {
			b = append(b, ',')
		}
		if t.kind == '{' {
			b = append(append(b, t.keys[i]...), ':')
		}
		b = k.write(b)
	}
	return append(b, t.kind+2) // '}' is '{'+2, ']' is '['+2
}

// parse parses valid JSON.
func parse(raw []byte) *twig {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	var whole json.RawMessage
	_ = d.Decode(&whole)
	return parseValue(whole)
}

func parseValue(value json.RawMessage) *twig {
	switch value[0] {
	case '[':
		var elements []json.RawMessage
		_ = json.Unmarshal(value, &elements)
		list := arr()
		for _, e := range elements {
			list.add(parseValue(e))
		}
		return list
	case '{':
		return parseObject(value)
	}
	return raw(string(value))
}

// parseObject keeps repeated keys, but not the escapes of keys.
func parseObject(value json.RawMessage) *twig {
	d := json.NewDecoder(strings.NewReader(string(value)))
	_, _ = d.Token()
	o := &twig{kind: '{'}
	for d.More() {
		key, _ := d.Token()
		var member json.RawMessage
		_ = d.Decode(&member)
		o.keys, o.kids = append(o.keys, quote(key.(string))), append(o.kids, parseValue(member))
	}
	return o
}

// smaller shrinks a failing text step by step until no step leaves it failing. It removes members and elements, and
// replaces a schema by a schema inside it. It calls fails at most tries times.
func smaller(t *twig, tries int, fails func(*twig) bool) *twig {
	for again := true; again; {
		again = false
		for _, n := range t.all() {
			for i := 0; i < len(n.kids) && tries > 0; {
				tries--
				if n.without(i, func() bool { return fails(t) }) {
					again = true
					continue
				}
				i++
			}
			for i := 0; i < len(n.kids) && tries > 0; i++ {
				if n.simpler(i, &tries, func() bool { return fails(t) }) {
					again = true
				}
			}
		}
		if tries <= 0 {
			break
		}
	}
	return t
}

// without removes a child if the text still fails without it.
func (t *twig) without(i int, fails func() bool) bool {
	keys, kids := t.keys, t.kids
	if t.kind == '{' {
		t.keys = slices.Delete(slices.Clone(keys), i, i+1)
	}
	t.kids = slices.Delete(slices.Clone(kids), i, i+1)
	if fails() {
		return true
	}
	t.keys, t.kids = keys, kids
	return false
}

// simpler replaces a child by one of the child's children or by a simple value, if the text still fails.
func (t *twig) simpler(i int, tries *int, fails func() bool) bool {
	was := t.kids[i]
	if was.kind == 0 || len(was.kids) == 0 {
		return false
	}
	for _, k := range append(slices.Clone(was.kids), obj(), obj("type", str("string"))) {
		if k.kind == 0 || len(k.String()) >= len(was.String()) {
			continue
		}
		*tries--
		if t.kids[i] = k; fails() {
			return true
		}
	}
	t.kids[i] = was
	return false
}
