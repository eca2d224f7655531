package mcpconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/mcpconfig/internal/edit"
	"github.com/indusagi/indus/mcpconfig/internal/fields"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// newReading returns a place for reading rows.
func newReading(o *Options) *readContext {
	p := newPlace(o)
	p.userBoxes = sync.OnceValue(p.readUserBoxes)
	return p
}

// readUserBoxes reads the rules about sandboxes in the user's own files, even if only other files are named. Mistakes
// are noted when these files themselves are read.
func (p *readContext) readUserBoxes() (out userBoxes) {
	out.confined = map[string]bool{}
	for _, scope := range []Scope{User, Legacy, LegacyAlt} {
		path := p.pathOf(scope, p.Dir)
		if path == "" {
			continue
		}
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0 {
			continue
		}
		text, err := atomicfile.ReadPlain(path, maxFile)
		doc, fault := tree.Parse(text, tree.JSON)
		switch {
		case err != nil:
			out.wrong = edit.Reason(err)
		case fault != nil:
			out.wrong = fault.Reason
		default:
			out.wrong = p.addUserBoxes(&out, &site{path: path, scope: scope, approved: true, place: p}, doc)
		}
		if out.wrong != "" {
			out.wrong = fmt.Sprintf("your own file %s is needed to know its sandbox: %s", tree.QuoteWord(path), out.wrong)
			return out
		}
	}
	return out
}

// addUserBoxes adds the rules of one file, and returns why they cannot be used. The first file that has a rule counts.
func (p *readContext) addUserBoxes(out *userBoxes, at *site, doc *tree.Doc) (wrong string) {
	var found userBoxes
	for name, m := range tree.Members(&doc.Root) {
		to := map[string]*func(*site) boxValue{"sandboxDefault": &found.byDefault, "sandboxProject": &found.inProject}[name]
		switch {
		case name == "servers" || name == "mcpServers":
			for _, row := range (&edit.Servers{JSON: edit.JSON{Doc: doc}}).All() {
				box := tree.At(row.Body, "sandbox")
				out.confined[row.ID] = out.confined[row.ID] || box != nil && !tree.Has(box, 'n') && tree.Text(*box) != "off"
			}
		case to == nil:
			if meant := fields.IntendedMember(name); isBoxMember(meant) {
				return fmt.Sprintf("unknown key %s", tree.Quote(name))
			}
		case *to != nil:
			return fmt.Sprintf("%q stands twice", name)
		default:
			*to = func(row *site) boxValue {
				own, budget := *at, maxExpand
				own.project = row.workspace()
				value, _ := own.readBoxValue(name, &m.Value, &budget)
				return value
			}
		}
	}
	if out.byDefault == nil {
		out.byDefault = found.byDefault
	}
	if out.inProject == nil {
		out.inProject = found.inProject
	}
	return ""
}

func isBoxMember(name string) bool { return name == "sandboxDefault" || name == "sandboxProject" }

// readBoxMember reads the members about sandboxes beside the servers of a file.
func (f *configFile) readBoxMember(name string, m *hujson.ObjectMember) {
	at := m.Name.StartOffset
	if name == "sandboxProject" {
		if !f.site.isUserFile() {
			f.note(at, `"sandboxProject" is not heeded: it counts in your own files alone`, "")
			return
		}
		own := *f.site
		own.project = filepath.Join(filepath.Dir(f.path), "project") // any project, because none is meant here
		_, found := own.readBoxValue(name, &m.Value, &f.budget)
		f.report(found, 0)
		return
	}
	value, found := f.site.readBoxValue(name, &m.Value, &f.budget)
	if f.site.boxDefault != nil {
		found.skip(at, "it stands twice", "remove one of the two")
		value.wrong = `"sandboxDefault" stands twice`
	}
	f.report(found, 0)
	f.site.boxDefault = &value
}
