package mcpconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/foreign"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// Errors of an [Edit], for errors.Is.
var (
	// ErrChanged says that the file is not what it was when it was opened.
	ErrChanged = errors.New("the file has changed since it was read")
	// ErrNoServer says that the file has no row of that id, or to [Import] none at all.
	ErrNoServer = errors.New("no such server")
)

// Edit is a file in the course of being changed. What is changed is the text: all
// that an operation is not about keeps its bytes, comments and rows that nobody can
// read among them. Nothing is written before [Edit.Save].
//
// An Edit belongs to one goroutine. Two processes may edit one file: the later of
// two saves fails with [ErrChanged], unless both hold the [Lock] from Open to Save.
type Edit struct {
	*original
	doc  *tree.Doc
	mark []byte // the byte order mark, if it has one
}

// Open reads a file to change it: one of indus's own, with "servers" or "mcpServers",
// in JSON with comments. A file that does not exist, or is empty, begins with no
// server.
//
// A file that cannot be parsed, or is another program's, is an error with its
// position; nothing is ever written to it. For those there is [Export].
func Open(path string) (*Edit, error) {
	switch filepath.Ext(path) {
	case ".toml", ".yaml", ".yml":
		return nil, &fault{note: Note{File: path, Reason: "only JSON can be edited", Hint: "see indus mcp import"}}
	}
	o, err := readOriginal(path, maxFile)
	if err != nil {
		return nil, err
	}
	e := &Edit{original: o}
	if err := e.parse(e.before); err != nil {
		return nil, err
	}
	return e, nil
}

// PathOf is the file of a scope, whether or not it is there.
func PathOf(scope Scope, o *Options) (string, error) {
	p := newPlace(o)
	switch {
	case scope == Project:
		return filepath.Join(p.dir, ".indusvx", "mcp.json"), nil
	case scope == User && p.xdg != "":
		return filepath.Join(p.xdg, "indusvx", "mcp.json"), nil
	case scope == Legacy && p.home != "":
		return filepath.Join(p.home, ".indusvx", "agent", "mcp.json"), nil
	case scope == LegacyAlt && p.home != "":
		return filepath.Join(p.home, ".indusvx", "agent", "mcp-servers.json"), nil
	case scope == User, scope == Legacy, scope == LegacyAlt:
		return "", &fault{note: Note{Reason: "there is no home directory to keep the user's servers in", Hint: "set HOME, or name a file"}}
	}
	return "", fmt.Errorf("the scope %q has no place of its own", scope)
}

func (e *Edit) faultAt(at int, reason, hint string) error {
	line, column := e.doc.Position(at)
	return &fault{note: Note{File: e.path, Line: line, Column: column, Reason: reason, Hint: hint}}
}

// parse takes over the text of a file.
func (e *Edit) parse(text []byte) error {
	if bytes.HasPrefix(text, []byte("\ufeff")) {
		e.mark = text[:3:3]
		text = text[3:]
	}
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{\n  \"servers\": {}\n}\n")
	}
	doc, wrong := tree.Parse(text, tree.JSON)
	e.doc = doc
	if wrong != nil {
		return e.faultAt(wrong.At, wrong.Reason, wrong.Hint)
	}
	top, ok := doc.Root.Value.(*hujson.Object)
	if !ok {
		return e.faultAt(doc.Root.StartOffset, "holds "+tree.KindOf(doc.Root.Value)+" where an object is expected", example)
	}
	return e.fit(top)
}

// fit refuses a file that was written for something else.
func (e *Edit) fit(top *hujson.Object) error {
	if client := foreign.Detect(e.doc, newPlace(nil).foreign(e.path)); client != "" && client != foreign.Native {
		return e.faultAt(e.doc.Root.StartOffset, "is written in the words of "+client+", which are not indus's",
			"see indus mcp export --to "+client)
	}
	held, other := false, ""
	for _, m := range top.Members {
		switch name := tree.Text(m.Name); {
		case name != "servers" && name != "mcpServers":
			if other == "" && !comment(name) {
				other = name
			}
		case m.Value.Value.Kind() != '{' && m.Value.Value.Kind() != '[':
			reason := fmt.Sprintf("%q is %s where a list or an object of servers is expected", name, tree.KindOf(m.Value.Value))
			return e.faultAt(m.Value.StartOffset, reason, "")
		default:
			held = true
		}
	}
	if !held && other != "" {
		return e.faultAt(e.doc.Root.StartOffset, `holds neither "servers" nor "mcpServers", but `+tree.Quote(other), "name a file that is for servers")
	}
	return nil
}

// comment reports a key that says nothing to a program.
func comment(name string) bool {
	return name != "" && strings.Contains("$_/#", name[:1])
}

// editRow is one server of the text.
type editRow struct {
	in   *hujson.Value // the list or object that it stands in
	at   int           // its place there
	id   string        // "" where it has none
	body *hujson.Value
}

// lists are the values that hold servers.
func (e *Edit) lists() []*hujson.Value {
	var lists []*hujson.Value
	top := e.doc.Root.Value.(*hujson.Object)
	for i := range top.Members {
		if name := tree.Text(top.Members[i].Name); name == "servers" || name == "mcpServers" {
			lists = append(lists, &top.Members[i].Value)
		}
	}
	return lists
}

func (e *Edit) rows() []editRow {
	var rows []editRow
	for _, in := range e.lists() {
		switch list := in.Value.(type) {
		case *hujson.Object:
			for i := range list.Members {
				rows = append(rows, editRow{in, i, tree.Text(list.Members[i].Name), &list.Members[i].Value})
			}
		case *hujson.Array:
			for i := range list.Elements {
				rows = append(rows, editRow{in, i, ownID(list.Elements[i]), &list.Elements[i]})
			}
		}
	}
	return rows
}

// ownID is the id that a row of a list gives itself: the last "id", else the last "name".
func ownID(v hujson.Value) string {
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		return ""
	}
	for _, field := range idFields() {
		if i := last(object, field); i >= 0 {
			if id := tree.Text(object.Members[i].Value); id != "" {
				return id
			}
		}
	}
	return ""
}

func idFields() []string { return []string{"id", "name"} }

// last is the place of the member of that name that counts, or -1.
func last(object *hujson.Object, name string) int {
	for i := len(object.Members) - 1; i >= 0; i-- {
		if tree.Text(object.Members[i].Name) == name {
			return i
		}
	}
	return -1
}

// of are the rows of an id.
func (e *Edit) of(id string) []editRow {
	return slices.DeleteFunc(e.rows(), func(r editRow) bool { return r.id != id || id == "" })
}

// IDs are those of the file's rows, each once, in the file's order.
func (e *Edit) IDs() []string {
	var ids []string
	for _, r := range e.rows() {
		if r.id != "" && !slices.Contains(ids, r.id) {
			ids = append(ids, r.id)
		}
	}
	return ids
}

// Definition is the row of an id that counts, the last, without its comments. It is
// false where there is none, or what stands there is no object.
func (e *Edit) Definition(id string) (Definition, bool) {
	rows := e.of(id)
	if len(rows) == 0 {
		return Definition{}, false
	}
	body := rows[len(rows)-1].body.Clone()
	object, ok := body.Value.(*hujson.Object)
	if !ok {
		return Definition{}, false
	}
	object.Members = slices.DeleteFunc(object.Members, func(m hujson.ObjectMember) bool {
		return slices.Contains(idFields(), tree.Text(m.Name))
	})
	body.Minimize()
	return Definition{ID: id, JSON: json.RawMessage(body.Pack())}, true
}

// Line is where the row of an id that counts begins; 0 where there is none.
func (e *Edit) Line(id string) int {
	rows := e.of(id)
	if len(rows) == 0 {
		return 0
	}
	r := rows[len(rows)-1]
	at := r.body.StartOffset
	if object, ok := r.in.Value.(*hujson.Object); ok {
		at = object.Members[r.at].Name.StartOffset
	}
	line, _ := e.doc.Position(at)
	return line
}

// Text is what [Edit.Save] would write.
func (e *Edit) Text() []byte { return slices.Concat(e.mark, e.doc.Text) }
