package tree_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// plain returns a tree as JSON, or a fault with its position.
func plain(text string, syntax tree.Syntax) string {
	doc, fault := tree.Parse([]byte(text), syntax)
	if fault != nil {
		line, column := doc.Position(fault.At)
		return fmt.Sprintf("%d:%d: %s", line, column, fault.Reason)
	}
	return doc.Root.String()
}

// TestTOML reads texts that are valid in TOML 1.0 to a tree, and refuses invalid
// ones.
func TestTOML(t *testing.T) {
	for text, want := range map[string]string{
		"a = 1\nb = \"x\"\nc = true\nd = 1.5\n":                    `{"a":1,"b":"x","c":true,"d":1.5}`,
		"a.b.c = 1\na.b.d = 2":                                     `{"a":{"b":{"c":1,"d":2}}}`,
		"[a.b]\nc = 1\n[a]\nd = 2":                                 `{"a":{"b":{"c":1},"d":2}}`,
		"[[a]]\nb = 1\n[[a]]\nb = 2\n[a.c]\nd = 3":                 `{"a":[{"b":1},{"b":2,"c":{"d":3}}]}`,
		"a = [1, [2, {b = 3}],]":                                   `{"a":[1,[2,{"b":3}]]}`,
		"a = {b.c = 1, b.d = 2}":                                   `{"a":{"b":{"c":1,"d":2}}}`,
		"a = 0x1F\nb = 1_000\nc = +5\nd = -0.5e1":                  `{"a":31,"b":1000,"c":5,"d":-5}`,
		"a = inf\nb = nan\nc = 2026-01-02":                         `{"a":"inf","b":"nan","c":"2026-01-02"}`,
		"a = '''\nx'y\n'''\nb = \"\\u00e9\\n\"":                    `{"a":"x'y\n","b":"é\n"}`,
		"\"a.b\" = 1\n'c d' = 2\n# comment":                        `{"a.b":1,"c d":2}`,
		"\ufeffa = 1\r\nb = 2\r\n":                                 `{"a":1,"b":2}`,
		"a = 1\na = 2":                                             `2:1: "a" is defined twice`,
		"[a]\nb = 1\n[a]\nc = 2":                                   `3:2: "a" is defined twice`,
		"a = {b = 1}\na.c = 2":                                     `2:1: "a.c" is defined twice`,
		"a = {b = 1}\n[a.c]\nd = 2":                                `2:2: "a.c" is defined twice`,
		"a = [1]\n[[a]]\nb = 1":                                    `2:3: "a" is defined twice`,
		"a = 1\n[a]\nb = 1":                                        `2:2: "a" is defined twice`,
		"a.b = 1\n[a]\nc = 2":                                      `2:2: "a" is defined twice`,
		"[a]\nb = 1\n[[a]]":                                        `3:3: "a" is defined twice`,
		"a = s3cret":                                               `1:5: is not valid TOML from here on`,
		"a = \"s3cret":                                             `1:11: is not valid TOML from here on`,
		"a = 99999999999999999999x":                                `1:25: is not valid TOML from here on`,
		"a = " + strings.Repeat("[", 100):                          `1:104: is not valid TOML from here on`,
		"a = " + strings.Repeat("[", 70) + strings.Repeat("]", 70): `1:5: nested deeper than 64 levels`,
		strings.Repeat("a.", 70) + "a = 1":                         `1:129: nested deeper than 64 levels`,
	} {
		if diff := cmp.Diff(want, plain(text, tree.TOML)); diff != "" {
			t.Errorf("%.60q: -want +got:\n%s", text, diff)
		}
	}
}

// TestYAML reads one document. Its aliases are written out.
func TestYAML(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1\nb: x\nc: true\nd: 1.5\ne:\n":        `{"a":1,"b":"x","c":true,"d":1.5,"e":null}`,
		"a: yes\nb: .inf\nc: 2026-01-02\nd: 0o17":  `{"a":"yes","b":".inf","c":"2026-01-02","d":15}`,
		"- 1\n- [a, {b: c}]":                       `[1,["a",{"b":"c"}]]`,
		"1: a\ntrue: b\nnull: c":                   `{"1":"a","true":"b","null":"c"}`,
		"a: &x {b: 1}\nc: *x":                      `{"a":{"b":1},"c":{"b":1}}`,
		"a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3": `{"a":{"b":1,"c":2},"d":{"c":3,"b":1}}`,
		"a: |\n  x\n  y\nb: >\n  x\n  y":           `{"a":"x\ny\n","b":"x y"}`,
		"\ufeffa: é\r\nb: 2\r\n":                   `{"a":"é","b":2}`,
		"a: 1\na: 2":                               `2:1: the name "a" is defined twice`,
		"a: &x [*x]":                               `1:8: has an alias that contains itself`,
		"a: *s3cret":                               `1:1: has an alias (*…) without its anchor (&…)`,
		"a: 1\n---\nb: 2":                          `2:1: holds more than one document`,
		"a: [s3cret":                               `1:1: is not valid YAML from about this line on`,
		"é: x\nü: {a: b\nc: d":                     `1:1: is not valid YAML from about this line on`,
		"[a]: b":                                   `1:1: has a list or a map as a name`,
		"a:\n  <<: 5":                              `2:3: has a "<<" that is no map`,
		"# only a comment":                         `1:1: is empty`,
		"a: " + strings.Repeat("[", 70) + strings.Repeat("]", 70): `1:68: nested deeper than 64 levels`,
	} {
		if diff := cmp.Diff(want, plain(text, tree.YAML)); diff != "" {
			t.Errorf("%.60q: -want +got:\n%s", text, diff)
		}
	}
}

// TestPositions finds every name of a tree at its position in the text, in each
// syntax.
func TestPositions(t *testing.T) {
	for syntax, text := range map[tree.Syntax]string{
		tree.JSON: "{\n  // é\n  \"one\": {\"two\": [\"x\", {\"three\": \"y\"}]}\n}",
		tree.TOML: "# é\none.two = [\"x\", {three = \"y\"}]\n[four]\nfive = \"z\"\n",
		tree.YAML: "# é\none:\n  two:\n    - x\n    - three: \"y\"\né: {four: z}\n",
	} {
		doc, fault := tree.Parse([]byte(text), syntax)
		if fault != nil {
			t.Fatal(fault)
		}
		found := 0
		walk(doc.Root, func(v hujson.Value) {
			found++
			rest := strings.TrimLeft(string(doc.Text[v.StartOffset:]), `"`)
			if !strings.HasPrefix(rest, tree.Text(v)) {
				t.Errorf("%s: %q is not at %.10q", syntax, tree.Text(v), rest)
			}
		})
		if found < 5 {
			t.Errorf("%s: %d texts", syntax, found)
		}
	}
}

// walk calls f with every name and every text.
func walk(v hujson.Value, f func(hujson.Value)) {
	switch list := v.Value.(type) {
	case *hujson.Object:
		for _, m := range list.Members {
			f(m.Name)
			walk(m.Value, f)
		}
	case *hujson.Array:
		for _, e := range list.Elements {
			walk(e, f)
		}
	case hujson.Literal:
		if list.Kind() == '"' {
			f(v)
		}
	}
}
