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
	// ErrChanged is returned if the file changed after it was opened.
	ErrChanged = edit.ErrChanged
	// ErrNoServer is returned if the file has no row with the id. [Import] returns it for a file without any server.
	ErrNoServer = edit.ErrNoServer
)

// maxRewrite bounds a file of another program, which may hold much more than servers.
const maxRewrite = 64 << 20

// Edit is a file that is being changed. It changes the text: everything that an operation does not concern keeps its
// bytes. That includes comments and rows that cannot be read. Nothing is written before [Edit.Save].
//
// An Edit belongs to one goroutine. Two processes may edit one file. Then the later save fails with [ErrChanged],
// unless both hold the [Lock] from Open to Save.
type Edit struct {
	original *edit.File
	servers  edit.Servers
	bom      []byte // the byte order mark, or nil
}

// Open reads one of indus's own files to change it: JSON with comments, with "servers" or "mcpServers". A file that
// does not exist or is empty begins without servers.
//
// If the file cannot be parsed, or belongs to another program, Open returns an error with the position. Such a file is
// never written. Use [Export] to add indus to it.
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
		wrong = e.misplacedError()
	}
	if wrong != nil {
		return nil, e.fault(wrong)
	}
	return e, nil
}

// openOriginal reads a file that is to be replaced. If the file is in a project but a link leads out of that project,
// it returns an error. A cloned repository with a link must not cause a write to the user's own file or to another
// project's.
func openOriginal(path string, limit int64) (*edit.File, error) {
	o, err := edit.Open(path, limit)
	if o == nil || o.Target == "" {
		return nil, faultOf(path, err)
	}
	at := &site{path: path, scope: Explicit, place: newPlace(nil)}
	target := atomicfile.Real(o.Target)
	if at.inProject() && !isWithin(atomicfile.Real(at.base()), target) {
		reason := "a symbolic link leads out of the project, to " + tree.QuoteWord(target)
		return nil, &fileError{note: Note{File: path, Reason: reason, Hint: "remove the link, or name that file itself"}}
	}
	if err != nil {
		return nil, faultOf(path, err)
	}
	return o, nil
}

// faultOf returns an error about a file.
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

// fault returns an error about the text, with its position if it has one.
func (e *Edit) fault(err error) error {
	var note *tree.Note
	if errors.As(err, &note) && err == error(note) {
		line, column := e.servers.Doc.Position(note.At)
		return &fileError{note: Note{File: e.original.Path, Line: line, Column: column, Reason: note.Reason, Hint: note.Hint}}
	}
	return faultOf(e.original.Path, err)
}

// misplacedError returns an error if the file is not one of indus's files of servers.
func (e *Edit) misplacedError() *tree.Note {
	root := &e.servers.Doc.Root
	if !tree.Has(root, '{') {
		reason := "holds " + tree.KindOf(root.Value) + " where an object is expected"
		return &tree.Note{At: root.StartOffset, Reason: reason, Hint: exampleHint}
	}
	client := foreign.Detect(e.servers.Doc, newPlace(nil).foreign(e.original.Path))
	if client != "" && client != foreign.Native {
		return &tree.Note{
			At: root.StartOffset, Reason: "is written in the words of " + client + ", which are not indus's",
			Hint: "write the server into a file of indus, and give that client indus: " +
				"indus connect " + client,
		}
	}
	held, other := false, ""
	for name, m := range tree.Members(root) {
		switch {
		case name != "servers" && name != "mcpServers":
			if other == "" && !tree.IsComment(name) {
				other = name
			}
		case !tree.Has(&m.Value, '{', '['):
			reason := fmt.Sprintf("%q is %s where a list or an object of servers is expected",
				name, tree.KindOf(m.Value.Value))
			return &tree.Note{At: m.Value.StartOffset, Reason: reason}
		default:
			held = true
		}
	}
	if !held && other != "" {
		reason := `holds neither "servers" nor "mcpServers", but ` + tree.Quote(other)
		return &tree.Note{At: root.StartOffset, Reason: reason, Hint: "name a file that is for servers"}
	}
	return nil
}

// IDs returns the ids of the file's rows, each once, in the file's order.
func (e *Edit) IDs() []string {
	var ids []string
	for _, r := range e.servers.All() {
		if r.ID != "" && !slices.Contains(ids, r.ID) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// row returns the row with an id that counts, the last.
func (e *Edit) row(id string) (edit.Server, bool) {
	rows := e.servers.Of(id)
	if len(rows) == 0 {
		return edit.Server{}, false
	}
	return rows[len(rows)-1], true
}

// Definition returns the last row with an id, without its comments. It returns false if there is no such row, or if the
// row is not an object.
func (e *Edit) Definition(id string) (Definition, bool) {
	r, ok := e.row(id)
	if !ok {
		return Definition{}, false
	}
	row, ok := edit.Row(r.Body)
	return Definition{ID: id, JSON: json.RawMessage(row)}, ok
}

// Line returns the line at which the last row with an id begins. It is 0 if there is none.
func (e *Edit) Line(id string) int {
	r, ok := e.row(id)
	if !ok {
		return 0
	}
	line, _ := e.servers.Doc.Position(tree.Start(r.Key, r.Body))
	return line
}

// Text returns the text that [Edit.Save] would write.
func (e *Edit) Text() []byte { return slices.Concat(e.bom, e.servers.Doc.Text) }

// Set writes a server. If a row has its id, Set changes that row, and its unchanged parts keep their bytes and
// comments. Otherwise Set adds a row behind the last one.
func (e *Edit) Set(d Definition) error { return e.servers.Set(d.ID, d.JSON) }

// Remove removes all rows with an id, together with the comments on their lines. Comments on lines of their own stay.
func (e *Edit) Remove(id string) error { return e.changed(id, e.servers.Remove(id)) }

// Enable switches the rows with an id on or off. If a row has "enabled" or "disabled" already, its value is changed in
// place.
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

// Check reads the last row with an id, as it is in the text now, and returns the notes. Notes in wrong are mistakes.
// Notes in advice may be intended: variables that are not set here, and paths relative to a directory that is empty.
// Nothing is run.
func (e *Edit) Check(id string, o *Options) (faults, advice []Note) {
	r, ok := e.row(id)
	if !ok {
		return nil, nil
	}
	f := newConfigFile(&source{path: e.original.Path, scope: Explicit, approved: true}, newReading(o))
	f.doc = e.servers.Doc
	f.row(r.Key, r.Body)
	for _, n := range f.sortedNotes() {
		if strings.HasSuffix(n.Reason, " is not set") || n.State == "" && strings.HasSuffix(n.Reason, ownDirectory) {
			advice = append(advice, n)
		} else {
			faults = append(faults, n)
		}
	}
	return faults, advice
}

// Save writes the file, and creates the directories that it needs. A reader always finds the old text or the new one,
// even after a crash. The mode of the file stays, and a symbolic link stays a link. A new file is readable only by the
// user, because it may hold secrets.
//
// If the file changed after [Open] read it, Save writes nothing and returns [ErrChanged]. On Unix, processes that save
// with this package cannot overwrite each other's changes. Another program may write between the last check and the
// replacement, in less than a millisecond. That change would be lost.
func (e *Edit) Save() error { return faultOf(e.original.Path, e.original.Save(e.Text())) }

// Rewrite replaces the text of a file with the result of change, which is called with the old text. If there is no
// file, the old text is nil. The guarantees of [Edit.Save] hold for it too. If change fails or returns the same text,
// nothing is written.
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
