package mcpconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/mcpconfig/internal/edit"
	"github.com/indusagi/indus/mcpconfig/internal/foreign"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// Errors of an [Edit], for errors.Is.
var (
	// ErrChanged says that the file is not what it was when it was opened.
	ErrChanged = edit.ErrChanged
	// ErrNoServer says that the file has no row of that id, or to [Import] none at all.
	ErrNoServer = edit.ErrNoServer
)

// maxRewrite bounds a file of another program, which may keep much more than its servers.
const maxRewrite = 64 << 20

// Edit is a file in the course of being changed. What is changed is the text: all
// that an operation is not about keeps its bytes, comments and rows that nobody can
// read among them. Nothing is written before [Edit.Save].
//
// An Edit belongs to one goroutine. Two processes may edit one file: the later of
// two saves fails with [ErrChanged], unless both hold the [Lock] from Open to Save.
type Edit struct {
	original *edit.File
	servers  edit.Servers
	bom      []byte // the byte order mark, if it has one
}

// Open reads a file to change it: one of indus's own, with "servers" or "mcpServers",
// in JSON with comments. A file that does not exist, or is empty, begins with no
// server.
//
// A file that cannot be parsed, or is another program's, is an error with its
// position; nothing is ever written to it. [Export] writes an entry of indus there.
func Open(path string) (*Edit, error) {
	switch filepath.Ext(path) {
	case ".toml", ".yaml", ".yml":
		return nil, &fileError{note: Note{File: path, Reason: "only JSON can be edited", Hint: "see indus mcp import"}}
	}
	original, err := openOriginal(path, maxFile)
	if err != nil {
		return nil, err
	}
	e := &Edit{original: original}
	text := original.Before
	if bytes.HasPrefix(text, []byte("\ufeff")) {
		e.bom, text = text[:3:3], text[3:]
	}
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{\n  \"servers\": {}\n}\n")
	}
	doc, wrong := tree.Parse(text, tree.JSON)
	e.servers = edit.Servers{JSON: edit.JSON{Doc: doc, Limit: maxFile}}
	if wrong == nil {
		wrong = e.misplaced()
	}
	if wrong != nil {
		return nil, e.fault(wrong)
	}
	return e, nil
}

// openOriginal reads what is to be replaced. A project's file that is really one elsewhere is an
// error: who clones a repository with a link in it must not write the user's own file, or
// another project's, by it.
func openOriginal(path string, limit int64) (*edit.File, error) {
	o, err := edit.Open(path, limit)
	if o == nil || o.Target == "" {
		return nil, faultOf(path, err)
	}
	f := &configFile{source: &source{path: path, scope: Explicit}, place: newPlace(nil)}
	target := atomicfile.Real(o.Target)
	if f.inProject() && !isWithin(atomicfile.Real(f.base()), target) {
		reason := "a symbolic link leads out of the project, to " + tree.QuoteWord(target)
		return nil, &fileError{note: Note{File: path, Reason: reason, Hint: "remove the link, or name that file itself"}}
	}
	if err != nil {
		return nil, faultOf(path, err)
	}
	return o, nil
}

// faultOf is an error about a file.
func faultOf(path string, err error) error {
	if err == nil {
		return nil
	}
	hint := ""
	if errors.Is(err, ErrChanged) {
		hint = "try again"
	}
	return &fileError{note: Note{File: path, Reason: edit.Reason(err), Hint: hint}, err: err}
}

// PathOf is the file of a scope, whether or not it is there.
func PathOf(scope Scope, o *Options) (string, error) {
	p := newPlace(o)
	if scope == Explicit || !slices.Contains([]Scope{Project, User, Legacy, LegacyAlt}, scope) {
		return "", fmt.Errorf("the scope %q has no place of its own", scope)
	}
	if path := p.pathOf(scope, p.Dir); path != "" {
		return path, nil
	}
	return "", &fileError{note: Note{Reason: "there is no home directory to keep the user's servers in", Hint: "set HOME, or name a file"}}
}

// fault is an error of the text, with its position if it has one.
func (e *Edit) fault(err error) error {
	var note *tree.Note
	if errors.As(err, &note) && err == error(note) {
		line, column := e.servers.Doc.Position(note.At)
		return &fileError{note: Note{File: e.original.Path, Line: line, Column: column, Reason: note.Reason, Hint: note.Hint}}
	}
	return faultOf(e.original.Path, err)
}

// misplaced is an error for a file that was written for something else.
func (e *Edit) misplaced() *tree.Note {
	root := &e.servers.Doc.Root
	if !tree.Has(root, '{') {
		return &tree.Note{At: root.StartOffset, Reason: "holds " + tree.KindOf(root.Value) + " where an object is expected", Hint: exampleHint}
	}
	if client := foreign.Detect(e.servers.Doc, newPlace(nil).foreign(e.original.Path)); client != "" && client != foreign.Native {
		return &tree.Note{At: root.StartOffset, Reason: "is written in the words of " + client + ", which are not indus's", Hint: "write the server into a file of indus, and give that client indus: indus mcp export --to " + client}
	}
	held, other := false, ""
	for name, m := range tree.Members(root) {
		switch {
		case name != "servers" && name != "mcpServers":
			if other == "" && !tree.IsComment(name) {
				other = name
			}
		case !tree.Has(&m.Value, '{', '['):
			return &tree.Note{At: m.Value.StartOffset, Reason: fmt.Sprintf("%q is %s where a list or an object of servers is expected", name, tree.KindOf(m.Value.Value))}
		default:
			held = true
		}
	}
	if !held && other != "" {
		return &tree.Note{At: root.StartOffset, Reason: `holds neither "servers" nor "mcpServers", but ` + tree.Quote(other), Hint: "name a file that is for servers"}
	}
	return nil
}

// IDs are those of the file's rows, each once, in the file's order.
func (e *Edit) IDs() []string {
	var ids []string
	for _, r := range e.servers.All() {
		if r.ID != "" && !slices.Contains(ids, r.ID) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// row is the one of an id that counts.
func (e *Edit) row(id string) (edit.Server, bool) {
	rows := e.servers.Of(id)
	if len(rows) == 0 {
		return edit.Server{}, false
	}
	return rows[len(rows)-1], true
}

// Definition is the row of an id that counts, the last, without its comments. It is
// false where there is none, or what is there is no object.
func (e *Edit) Definition(id string) (Definition, bool) {
	r, ok := e.row(id)
	if !ok {
		return Definition{}, false
	}
	row, ok := edit.Row(r.Body)
	return Definition{ID: id, JSON: json.RawMessage(row)}, ok
}

// Line is where the row of an id that counts begins; 0 where there is none.
func (e *Edit) Line(id string) int {
	r, ok := e.row(id)
	if !ok {
		return 0
	}
	at := r.Body.StartOffset
	if r.Key != nil {
		at = r.Key.StartOffset
	}
	line, _ := e.servers.Doc.Position(at)
	return line
}

// Text is what [Edit.Save] would write.
func (e *Edit) Text() []byte { return slices.Concat(e.bom, e.servers.Doc.Text) }

// Set writes a server: in the place of the row that has its id, of which what stays
// the same keeps its bytes and its comments, or else behind the last row.
func (e *Edit) Set(d Definition) error { return e.servers.Set(d.ID, d.JSON) }

// Remove takes the rows of an id out of the file, with the comments that are on
// their lines. Comments on lines of their own stay.
func (e *Edit) Remove(id string) error { return e.changed(id, e.servers.Remove(id)) }

// Enable switches the rows of an id on or off. What they say about that already is
// changed in place.
func (e *Edit) Enable(id string, on bool) error { return e.changed(id, e.servers.Enable(id, on)) }

func (e *Edit) changed(id string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNoServer):
		return &fileError{note: Note{File: e.original.Path, Server: id, Reason: err.Error()}, err: err}
	}
	return e.fault(err)
}

// Check is what reading says about the row of an id that counts, as it is in
// the text now: what is wrong with it, and apart from that what may be meant so: variables
// that are only not set here, and paths that are relative to a directory with nothing in
// it. Nothing is run.
func (e *Edit) Check(id string, o *Options) (wrong, advice []Note) {
	r, ok := e.row(id)
	if !ok {
		return nil, nil
	}
	f := &configFile{
		source: &source{path: e.original.Path, scope: Explicit, approved: true},
		place:  newPlace(o), doc: e.servers.Doc, budget: maxExpand, later: maxExpand,
	}
	f.reading(entry{n: 1, key: r.Key, v: r.Body}, nil)
	for _, n := range f.sorted() {
		if strings.HasSuffix(n.Reason, " is not set") || n.State == "" && strings.HasSuffix(n.Reason, ownDirectory) {
			advice = append(advice, n)
		} else {
			wrong = append(wrong, n)
		}
	}
	return wrong, advice
}

// Save writes the file, with the directories it needs. Whoever reads it, also
// after a crash, finds the old text or the new one. Its mode stays, and a symbolic
// link stays one; a new file is for the user alone, because it may hold secrets.
//
// If the file is no longer what [Open] read, Save writes nothing and its error is
// [ErrChanged]. Of processes that save with this package none can overwrite
// another's change, on Unix; what another program writes in the moment between the
// last look and the replacement, less than a millisecond, would be lost.
func (e *Edit) Save() error { return faultOf(e.original.Path, e.original.Save(e.Text())) }

// Rewrite gives a file the text that change makes of its old one, which is nil where
// there is no file. What [Edit.Save] promises holds for it too. If change fails, or
// returns what it was given, nothing is written.
func Rewrite(path string, change func(text []byte) ([]byte, error)) error {
	o, err := openOriginal(path, maxRewrite)
	if err != nil {
		return err
	}
	text, err := change(bytes.Clone(o.Before))
	if err != nil {
		return err
	}
	return faultOf(path, o.Save(text))
}
