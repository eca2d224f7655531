package standard

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/indusagi/indus/toolbox"
)

// lsLimit is the default number of entries that ls shows.
const lsLimit = 500

// Ls returns the tool "ls", which lists a directory: directories first, each group by name.
//
// Directories end in "/" and symlinks in "@"; files have their size in bytes after a tab. Names that begin with a
// dot are shown unless hidden is false. Entries ignored by .gitignore are shown only if ignored is true or the
// directory is itself ignored. If there are more than 500 entries, or more than the budget allows, a note has
// their number.
func Ls() toolbox.Tool {
	return define("ls",
		"List a directory: directories first (name/), then files with their size in bytes; name@ is a symlink. "+
			"Hidden entries are shown too, what .gitignore names is left out. Use find to search below it.",
		ls)
}

type lsInput struct {
	Path    string `json:"path,omitempty" jsonschema_description:"The directory, relative to the working directory or absolute inside it; the working directory by default."`
	Hidden  *bool  `json:"hidden,omitempty" jsonschema_description:"false leaves out names that begin with a dot; true by default."`
	Ignored bool   `json:"ignored,omitempty" jsonschema_description:"Show what .gitignore names too; false by default."`
	Limit   *int   `json:"limit,omitempty" jsonschema:"minimum=1,maximum=10000" jsonschema_description:"How many entries to show, 500 by default."`
}

func ls(ctx context.Context, tc *toolbox.Context, in lsInput) (*toolbox.Result, error) {
	dir, err := openPath(tc, in.Path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if !dir.info.IsDir() {
		return textResult("%s\t%d", show(path.Base(dir.name)), dir.info.Size()), nil
	}
	list, more, err := entries(ctx, dir.File)
	if err != nil {
		return nil, explain(tc, dir.name, err)
	}
	p := newPage(tc)
	if len(list) == 0 {
		p.note("the directory is empty")
	}
	all := len(list)
	var rules *ignores
	if !in.Ignored {
		rules = newIgnores(ctx, tc, dir.name)
		defer rules.enterDir(dir.name, list)()
		list = slices.DeleteFunc(list, func(e fs.DirEntry) bool {
			return rules.isIgnored(join(dir.name, e.Name()), e.IsDir())
		})
	}
	ignored := all - len(list)
	p.list(list, valueOr(in.Limit, lsLimit), in.Hidden == nil || *in.Hidden)
	rules.notes(p, ignored)
	if more {
		p.note("the directory has more than %d entries; the rest was not looked at", maxEntries)
	}
	return p.result(), nil
}

// list shows the entries of a directory.
func (p *page) list(list []fs.DirEntry, limit int, hidden bool) {
	all := len(list)
	if !hidden {
		list = slices.DeleteFunc(list, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") })
	}
	slices.SortStableFunc(list, func(a, b fs.DirEntry) int { return rank(a) - rank(b) })
	shown := 0
	for _, e := range list[:min(limit, len(list))] {
		if !p.add(entry(e)) {
			break
		}
		shown++
	}
	if shown < len(list) {
		p.note("%d of %d entries; use find to narrow it", shown, len(list))
	}
	p.noteCount(all-len(list), "hidden entry is not shown", "hidden entries are not shown")
}

// rank orders directories before other entries.
func rank(e fs.DirEntry) int {
	if e.IsDir() {
		return 0
	}
	return 1
}

func entry(e fs.DirEntry) string {
	switch {
	case e.IsDir():
		return show(e.Name()) + "/"
	case e.Type()&fs.ModeSymlink != 0:
		return show(e.Name()) + "@"
	}
	info, err := e.Info()
	if err != nil {
		return show(e.Name())
	}
	return fmt.Sprintf("%s\t%d", show(e.Name()), info.Size())
}
