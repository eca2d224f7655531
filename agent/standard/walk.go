package standard

import (
	"context"
	"errors"
	"io/fs"

	"github.com/indusagi/indus/toolbox"
)

const (
	// maxVisits is the maximum number of files and directories that one search visits. It is ten times a
	// large repository.
	maxVisits = 1_000_000
	// maxLevels is the maximum depth of a search below its start.
	maxLevels = 100
)

// errWalkLimit ends a walk early. The results so far are valid.
var errWalkLimit = errors.New("enough")

// walk is one search through a directory, with counts of the parts it left out. It follows no symlinks. It
// skips directories of version control, node_modules and ignored entries, unless it starts in such a
// directory.
type walk struct {
	ctx     context.Context
	tc      *toolbox.Context
	ignores *ignores // nil: nothing is ignored
	visit   func(name string, e fs.DirEntry) error

	visits     int
	ignored    int
	modules    int // number of directories called node_modules
	unreadable int
	tooDeep    int
	tooLarge   int // directories with more than maxEntries
	stopped    bool
}

// newWalk returns a search below root. If ignored is true, it visits ignored entries too.
func newWalk(
	ctx context.Context, tc *toolbox.Context, root string, ignored bool, visit func(name string, e fs.DirEntry) error,
) *walk {
	w := &walk{ctx: ctx, tc: tc, visit: visit}
	if !ignored {
		w.ignores = newIgnores(ctx, tc, root)
	}
	return w
}

// visitDir visits all entries of the open directory called name, and all entries below them, by name.
func (w *walk) visitDir(name string, dir fs.File, level int) error {
	list, more, err := entries(w.ctx, dir)
	_ = dir.Close() // before its children are opened: a tree may be deeper than the number of descriptors
	if w.ctx.Err() != nil {
		return w.ctx.Err()
	}
	if err != nil {
		w.unreadable++
		return nil
	}
	if more {
		w.tooLarge++
	}
	defer w.ignores.enterDir(name, list)()
	for _, e := range list {
		if err := w.visitEntry(join(name, e.Name()), e, level); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) visitEntry(name string, e fs.DirEntry, level int) error {
	if w.visits++; w.visits > maxVisits {
		w.stopped = true
		return errWalkLimit
	}
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if e.IsDir() && w.isSkipped(e.Name()) {
		return nil
	}
	if w.ignores.isIgnored(name, e.IsDir()) {
		w.ignored++
		return nil
	}
	if err := w.visit(name, e); err != nil || !e.IsDir() {
		return err
	}
	if level >= maxLevels {
		w.tooDeep++
		return nil
	}
	dir, err := w.tc.FS.Open(name)
	if err != nil {
		w.unreadable++
		return nil
	}
	return w.visitDir(name, dir, level+1)
}

func (w *walk) isSkipped(name string) bool {
	switch name {
	case "node_modules":
		w.modules++
		return true
	case ".git", ".hg", ".svn", ".jj":
		return true
	}
	return false
}

// notes adds notes about the parts that the walk left out, except directories of version control.
func (w *walk) notes(p *page) {
	p.noteCount(w.modules, "node_modules was left out; give it as path to search it",
		"directories called node_modules were left out; give one as path to search it")
	w.ignores.notes(p, w.ignored)
	p.noteCount(w.unreadable, "file or directory could not be read", "files or directories could not be read")
	p.noteCount(w.tooDeep, "directory is too deep to be entered", "directories are too deep to be entered")
	p.noteCount(w.tooLarge, "directory has too many entries to look at all",
		"directories have too many entries to look at all")
	if w.stopped {
		p.note("stopped after %d files and directories: give a path further down", maxVisits)
	}
}
