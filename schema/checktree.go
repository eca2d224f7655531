package schema

import (
	"bytes"
	"encoding/json"
	"iter"
	"strconv"
)

// tree is a JSON value as encoding/json reads it, with the order of its members. Of a key that is repeated the last value
// is at the first one's place.
type tree struct {
	kind    byte   // { [ " 0 t f n
	text    string // what a string stands for, or a number as it is written
	members []treeMember
	index   map[string]int // into members, by name
	elems   []*tree
	half    bool // the string has half a surrogate pair
}

type treeMember struct {
	name  string
	value *tree
	half  bool // the name has half a surrogate pair
}

// readTree reads one valid JSON value that is not too deep.
func readTree(raw []byte) *tree {
	d := treeReader{json.NewDecoder(bytes.NewReader(raw)), raw}
	d.UseNumber()
	return nextTree(d)
}

type treeReader struct {
	*json.Decoder
	raw []byte
}

func nextTree(d treeReader) *tree {
	start := d.InputOffset()
	token, err := d.Token()
	if err != nil {
		return &tree{kind: 'n'} // never, for the text is valid
	}
	switch v := token.(type) {
	case json.Delim:
		if v == '{' {
			return nextObject(d)
		}
		return nextArray(d)
	case string:
		return &tree{kind: '"', text: v, half: hasHalf(d.raw[start:d.InputOffset()])}
	case json.Number:
		return &tree{kind: '0', text: v.String()}
	case bool:
		if v {
			return &tree{kind: 't'}
		}
		return &tree{kind: 'f'}
	}
	return &tree{kind: 'n'}
}

func nextObject(d treeReader) *tree {
	t := &tree{kind: '{', index: map[string]int{}}
	for d.More() {
		name := nextTree(d)
		value := nextTree(d)
		if i, ok := t.index[name.text]; ok {
			t.members[i].value = value
			continue
		}
		t.index[name.text] = len(t.members)
		t.members = append(t.members, treeMember{name.text, value, name.half})
	}
	_, _ = d.Token() // the closing brace
	return t
}

func nextArray(d treeReader) *tree {
	t := &tree{kind: '['}
	for d.More() {
		t.elems = append(t.elems, nextTree(d))
	}
	_, _ = d.Token() // the closing bracket
	return t
}

// get is the member of that name; nil if t is no object or has none.
func (t *tree) get(name string) *tree {
	if t == nil {
		return nil
	}
	if i, ok := t.index[name]; ok {
		return t.members[i].value
	}
	return nil
}

// is reports whether t is there and of one of the kinds.
func (t *tree) is(kinds string) bool { return t != nil && bytes.IndexByte([]byte(kinds), t.kind) >= 0 }

// strings are the strings of an array; nil if t is none.
func (t *tree) strings() []string {
	if !t.is("[") {
		return nil
	}
	var all []string
	for _, e := range t.elems {
		if e.kind == '"' {
			all = append(all, e.text)
		}
	}
	return all
}

// types are the names that type gives in a schema.
func (t *tree) types() []string {
	named := t.get("type")
	if named.is(`"`) {
		return []string{named.text}
	}
	return named.strings()
}

// isInteger reports whether a number is one, as 1.0 and 1e2 are.
func (t *tree) isInteger() bool {
	f, err := strconv.ParseFloat(t.text, 64)
	return t.kind == '0' && (err != nil || f == float64(int64(f)) || f > 1<<62 || f < -1<<62)
}

// number is a number's value; what is too large for a float64 is infinite.
func (t *tree) number() float64 {
	f, _ := strconv.ParseFloat(t.text, 64)
	return f
}

// describe says what t is, for a message.
func (t *tree) describe() string {
	switch t.kind {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return shortQuote(t.text)
	case '0':
		return shortened(t.text)
	case 't':
		return "true"
	case 'f':
		return "false"
	}
	return "null"
}

// shortQuote is a string for a message: quoted, in one line, and cut where it is long.
func shortQuote(s string) string { return strconv.Quote(shortened(s)) }

// shownKeyword is a keyword for a message: quoted where it is none that anybody defines.
func shownKeyword(keyword string) string {
	if keyword == "" {
		return shortQuote(keyword)
	}
	for i := range len(keyword) {
		if b := keyword[i]; !hasByte("a-zA-Z0-9$_-", b) {
			return shortQuote(keyword)
		}
	}
	return shortened(keyword)
}

func shortened(s string) string {
	const longest = 64 // characters
	n := 0
	for i := range s {
		if n++; n > longest {
			return s[:i] + "…"
		}
	}
	return s
}

// subschemas yields what stands where a schema keyword holds a schema, with the steps that lead there.
func (t *tree) subschemas() iter.Seq2[[]string, *tree] {
	return func(yield func([]string, *tree) bool) {
		for _, m := range t.members {
			for steps, child := range m.value.held(m.name) {
				if !yield(append([]string{m.name}, steps...), child) {
					return
				}
			}
		}
	}
}

// held yields the schemas in the value of a keyword, and the steps from there. It yields what stands where a schema belongs
// and is none too.
func (t *tree) held(name string) iter.Seq2[[]string, *tree] {
	return func(yield func([]string, *tree) bool) {
		switch formOf(name) {
		case formSchema:
			yield(nil, t)
		case formItems:
			if t.kind != '[' {
				yield(nil, t)
				return
			}
			t.eachElem(yield)
		case formSchemas:
			t.eachElem(yield)
		case formSchemaMap:
			t.eachMember(yield)
		case formDependencies:
			t.eachMember(func(steps []string, child *tree) bool { return child.kind == '[' || yield(steps, child) })
		}
	}
}

func (t *tree) eachElem(yield func([]string, *tree) bool) {
	for i, e := range t.elems {
		if !yield([]string{strconv.Itoa(i)}, e) {
			return
		}
	}
}

func (t *tree) eachMember(yield func([]string, *tree) bool) {
	for _, m := range t.members {
		if !yield([]string{m.name}, m.value) {
			return
		}
	}
}
