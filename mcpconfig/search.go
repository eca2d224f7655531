package mcpconfig

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/text"

	"github.com/indusagi/indus/mcpconfig/internal/edit"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// searchResult is the outcome of a search.
type searchResult struct {
	sources    []*source // in order of precedence within a group
	searched   []string
	notes      []Note
	unreadable []*source // files of the user that cannot be opened, so their rules for clients are unknown

	directories bool // a directory was named; the first is the project of the user's own rows
}

// find turns the named paths into files, each once.
func (p *readContext) find(paths []string) (*searchResult, error) {
	f := &searchResult{}
	if len(paths) == 0 {
		f.search(p, p.Dir, 0)
		return f, nil
	}
	for group, path := range paths {
		info, err := os.Stat(path)
		switch {
		case path == "":
			return nil, &fileError{note: Note{Reason: "an empty path names no file"}, err: fs.ErrNotExist}
		case err != nil:
			return nil, &fileError{note: Note{File: path, Reason: edit.Reason(err), Hint: similarNames(path)}, err: err}
		case info.IsDir():
			f.directory(p, path, group)
		default:
			f.searched = append(f.searched, path)
			f.add(&source{path: path, info: info, scope: Explicit, approved: true, group: group})
		}
	}
	return f, nil
}

func (f *searchResult) directory(p *readContext, dir string, group int) {
	if ext := filepath.Ext(dir); ext == ".json" || ext == ".jsonc" {
		f.notes = append(f.notes, Note{File: dir, Reason: "a directory, which is searched as one"})
	}
	if !f.directories {
		f.directories, p.Dir = true, dir
	}
	f.search(p, dir, group)
}

// search looks in the four conventional places.
func (f *searchResult) search(p *readContext, dir string, group int) {
	f.addDiscovered(p.pathOf(Project, dir), Project, p.Trust, group)
	for _, scope := range []Scope{User, Legacy, LegacyAlt} {
		if path := p.pathOf(scope, dir); path != "" {
			f.addDiscovered(path, scope, true, group)
		}
	}
}

// addDiscovered adds a file if it exists.
func (f *searchResult) addDiscovered(path string, scope Scope, approved bool, group int) {
	if slices.Contains(f.searched, path) && scope != Project {
		return
	}
	f.searched = append(f.searched, path)
	s := &source{path: path, scope: scope, approved: approved, group: group}
	wrong := ""
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(path); err != nil {
			return
		}
		wrong = "a symbolic link to nothing"
	case err != nil:
		wrong = edit.Reason(err)
	case atomicfile.CheckRegular(info) != nil: // opening a pipe could block forever
		wrong = atomicfile.CheckRegular(info).Error()
	default:
		s.info = info
		f.add(s)
		return
	}
	f.notes = append(f.notes, Note{File: path, Reason: wrong})
	if s.isUserFile() {
		s.breakSettings(1)
		f.unreadable = append(f.unreadable, s)
	}
}

// add keeps one source for each file, even if the file was reached several times or by different names. The source is
// approved if any path to it is approved. Its path is then the approved one: a project's link to the user's file must
// not make relative paths begin in the project. The user's own files keep their first place, so they never go before a
// project's file. All other files take their last place, because the later path wins.
func (f *searchResult) add(s *source) {
	same := func(e *source) bool { return os.SameFile(e.info, s.info) }
	i := slices.IndexFunc(f.sources, same)
	if i < 0 {
		f.sources = append(f.sources, s)
		return
	}
	old := f.sources[i]
	s.approved = s.approved || old.approved
	switch {
	case old.isUserFile() && s.scope == Project:
		return
	case old.scope == Project && s.isUserFile():
		old.path, old.scope, old.approved = s.path, s.scope, true
		return
	case s.isUserFile():
		old.approved = true
		return
	case old.scope == Explicit && s.scope == Project:
		s.path, s.scope = old.path, Explicit
	}
	f.sources = append(slices.Delete(f.sources, i, i+1), s)
}

// similarNames returns a hint with existing names that resemble the name of the path.
func similarNames(path string) string {
	entries, _ := os.ReadDir(filepath.Dir(path))
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	near := text.Nearest(filepath.Base(path), names, 1)
	if len(near) == 0 {
		return ""
	}
	return "did you mean " + tree.QuoteWord(filepath.Join(filepath.Dir(path), near[0])) + "?"
}

// breakSettings marks the settings that the user's file may have as broken, because it cannot be read.
func (s *source) breakSettings(line int) {
	broken := Setting{File: s.path, Line: line, Broken: true}
	s.Auth, s.Policy, s.Audit = &Auth{Setting: broken}, &Policy{Setting: broken}, &Audit{Setting: broken}
	s.Registries = &Registries{Setting: broken}
}
