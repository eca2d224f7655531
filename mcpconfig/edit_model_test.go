package mcpconfig_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/mcpconfig"
)

// written is a file in some style, and its expected content.
type written struct {
	text     string
	ids      []string
	raw      map[string]string         // the bytes of each row that is unchanged
	rows     map[string]map[string]any // the content of each row, without its id
	comments []string                  // comments on lines of their own
}

// pen writes one such file.
type pen struct {
	*rand.Rand
	nl, indent     string
	lines, trailer bool // lines: each row has lines of its own; trailer: a comma follows the last row
	array, strict  bool // strict: no comments and no trailing comma
	n              int
	w              written
}

func (p *pen) one(of ...string) string { return of[p.IntN(len(of))] }

func (p *pen) comment() string {
	p.n++
	c := fmt.Sprintf("%s %d: \"}],{ %s", p.one("c", "note", "{"), p.n, p.one("", "/", "*", "\\"))
	if p.IntN(2) == 0 {
		return "// " + c
	}
	if p.IntN(4) == 0 {
		c += p.nl + p.indent + "goes on"
	}
	return "/* " + c + " */"
}

// aside returns a comment on a line of its own, or "".
func (p *pen) aside() string {
	if p.strict || !p.lines || p.IntN(3) > 0 {
		return ""
	}
	c := p.comment()
	p.w.comments = append(p.w.comments, c)
	return p.nl + p.indent + p.indent + c + p.one("", p.nl)
}

// row returns the row of a server, and its content.
func (p *pen) row(id string) (string, map[string]any) {
	p.n++
	means := map[string]any{"command": fmt.Sprintf("}c%d,//", p.n)}
	parts := []string{fmt.Sprintf(`"command":%s"}c%d,//"`, p.one("", " "), p.n)}
	if p.array {
		parts = append([]string{fmt.Sprintf(`"name": %q`, id)}, parts...)
	}
	if p.IntN(2) == 0 {
		parts, means["args"] = append(parts, `"args": ["/*", 1.50]`), []any{"/*", 1.5}
	}
	if p.IntN(4) == 0 {
		parts, means["x"] = append(parts, `"x": {"y": [null, {"z": ""}]}`), map[string]any{"y": []any{nil, map[string]any{"z": ""}}}
	}
	if !p.lines || p.IntN(2) == 0 {
		return "{" + strings.Join(parts, ", ") + "}", means
	}
	deep := p.nl + strings.Repeat(p.indent, 3)
	between, end := ","+deep, ""
	if !p.strict {
		end = p.one("", ",", " // inside"+deep+",", " /* inside */")
	}
	return "{" + deep + strings.Join(parts, between) + end + p.nl + p.indent + p.indent + "}", means
}

func (p *pen) write() *written {
	p.w.raw, p.w.rows = map[string]string{}, map[string]map[string]any{}
	brackets := "{}"
	if p.array {
		brackets = "[]"
	}
	var b strings.Builder
	key := p.one("servers", "mcpServers")
	fmt.Fprintf(&b, "{%s%s%q: %s", p.nl, p.indent, key, brackets[:1])
	n := p.IntN(6)
	for i := range n {
		id := fmt.Sprintf("s%d", i)
		b.WriteString(p.aside())
		if p.lines {
			b.WriteString(p.nl + p.indent + p.indent)
		} else if i > 0 {
			b.WriteString(" ")
		}
		if !p.array {
			fmt.Fprintf(&b, "%q: ", id)
		}
		raw, means := p.row(id)
		b.WriteString(raw)
		p.w.ids, p.w.raw[id], p.w.rows[id] = append(p.w.ids, id), raw, means
		if i < n-1 || p.trailer {
			b.WriteString(",")
		}
		if p.lines && !p.strict && p.IntN(3) == 0 {
			b.WriteString(" " + p.comment())
		}
	}
	b.WriteString(p.aside())
	if p.lines {
		b.WriteString(p.nl + p.indent)
	}
	fmt.Fprintf(&b, "%s,%s%s\"other\": [1,  2]%s}%s", brackets[1:], p.nl, p.indent, p.nl, p.one("", p.nl))
	p.w.text = b.String()
	return &p.w
}

// Every edit leaves the rest of the file unchanged. The rows that are read back
// match a plain model.
func TestEditAgainstAModel(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 1))
	dir := t.TempDir()
	for n := range 150 {
		p := &pen{Rand: r, nl: "\n", indent: "  ", array: r.IntN(3) == 0, lines: r.IntN(4) > 0, strict: r.IntN(3) == 0}
		p.nl, p.indent = p.one("\n", "\n", "\r\n"), p.one("  ", "    ", "\t")
		p.trailer = !p.strict && r.IntN(2) == 0
		w := p.write()
		path := filepath.Join(dir, fmt.Sprintf("%d.json", n))
		write(t, path, w.text)
		var told strings.Builder
		for range 1 + r.IntN(8) {
			fmt.Fprintln(&told, w.change(t, p, path))
			if w.check(t, p, path); t.Failed() {
				t.Fatalf("seed %d\n%s\nafter\n%s", seed, w.text, told.String())
			}
		}
	}
}

// change applies one operation to the file and to the model.
func (w *written) change(t *testing.T, p *pen, path string) string {
	t.Helper()
	e, err := mcpconfig.Open(path)
	if err != nil {
		t.Error(err)
		return "open"
	}
	id := fmt.Sprintf("s%d", p.IntN(7))
	known := slices.Contains(w.ids, id)
	operation := p.one("set", "remove", "enable", "disable")
	switch operation {
	case "set":
		p.n++
		row := map[string]any{"command": fmt.Sprintf("new %d", p.n), "args": []any{"a", strings.Repeat("b", p.IntN(120))}}
		if p.IntN(3) == 0 {
			delete(row, "args")
		}
		raw, _ := json.Marshal(row)
		err = e.Set(mcpconfig.Definition{ID: id, JSON: raw})
		w.rows[id] = row
		delete(w.raw, id)
		if !known {
			w.ids = append(w.ids, id)
		}
		known = true
	case "remove":
		err = e.Remove(id)
		w.ids = slices.DeleteFunc(w.ids, func(s string) bool { return s == id })
		delete(w.rows, id)
		delete(w.raw, id)
	default:
		on := operation == "enable"
		err = e.Enable(id, on)
		if row := w.rows[id]; known && (!on || row["enabled"] != nil || row["disabled"] != nil) {
			delete(w.raw, id)
			field := "enabled"
			if row["disabled"] != nil || row["enabled"] == nil && strings.Contains(w.text, `"mcpServers"`) {
				field, on = "disabled", !on
			}
			row[field] = on
		}
	}
	if (err == nil) != known {
		t.Errorf("%s %s: %v", operation, id, err)
	}
	if err := e.Save(); err != nil {
		t.Error(err)
	}
	return operation + " " + id
}

func (w *written) check(t *testing.T, p *pen, path string) {
	t.Helper()
	e, err := mcpconfig.Open(path)
	if err != nil {
		t.Error(err)
		return
	}
	text := string(e.Text())
	if diff := cmp.Diff(w.ids, e.IDs()); len(w.ids)+len(e.IDs()) > 0 && diff != "" {
		t.Errorf("ids: %s", diff)
	}
	for _, c := range w.comments {
		if strings.Count(text, c) != 1 {
			t.Errorf("the comment %q is lost", c)
		}
	}
	for id, raw := range w.raw {
		if strings.Count(text, raw) != 1 {
			t.Errorf("the row of %s is not what it was", id)
		}
	}
	for id, row := range w.rows {
		d, _ := e.Definition(id)
		var got map[string]any
		if err := json.Unmarshal(d.JSON, &got); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(row, got); diff != "" {
			t.Errorf("%s: %s", id, diff)
		}
	}
	if !strings.Contains(text, `"other": [1,  2]`) {
		t.Error("the rest is not what it was")
	}
	if p.strict && !json.Valid(e.Text()) {
		t.Error("it was strict JSON, and is no more")
	}
	if bytes.Count(e.Text(), []byte("\r")) != strings.Count(text, "\n")*strings.Count(p.nl, "\r") {
		t.Error("the line breaks are mixed")
	}
	if t.Failed() {
		t.Logf("now\n%s", text)
	}
}
