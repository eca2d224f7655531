package standard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/indusagi/indus/toolbox"
)

const (
	// findLimit is the default number of names that find shows. findCount bounds the counting of further
	// names.
	findLimit = 200
	findCount = 100_000
)

// Find returns the tool "find", which finds the files and directories below a directory with names that
// match a glob.
//
// A pattern without a slash is matched against the last element of each name. A pattern with a slash is
// matched against the whole name relative to path. Results are relative to the context's directory and
// sorted; directories end in "/".
func Find() toolbox.Tool {
	return define("find",
		"Find files and directories by name. A pattern without a slash is matched against names at any depth (*.go); "+
			"one with a slash against the path below the directory (src/**/*.ts, **/test/*). "+
			"Results are sorted paths; directories end in /. .git, node_modules and what .gitignore names are left out. "+
			"Use grep to search contents.",
		find)
}

type findInput struct {
	Pattern string `json:"pattern" jsonschema:"minLength=1" jsonschema_description:"A glob: *, **, ?, [a-z], {one,two}."`
	Path    string `json:"path,omitempty" jsonschema_description:"The directory to search, relative to the working directory or absolute inside it; the working directory by default."`
	Type    string `json:"type,omitempty" jsonschema:"enum=any,enum=file,enum=directory" jsonschema_description:"What to find, any by default."`
	Ignored bool   `json:"ignored,omitempty" jsonschema_description:"Find what .gitignore names too; false by default."`
	Limit   *int   `json:"limit,omitempty" jsonschema:"minimum=1,maximum=10000" jsonschema_description:"How many results to show, 200 by default."`
}

// findRun is one run of the tool.
type findRun struct {
	root  string
	glob  namePattern
	kind  string
	limit int
	page  *page
	shown int
	found int
}

func find(ctx context.Context, tc *toolbox.Context, in findInput) (*toolbox.Result, error) {
	glob, err := newGlob(in.Pattern)
	if err != nil {
		return nil, err
	}
	dir, err := openPath(tc, in.Path)
	if err != nil {
		return nil, err
	}
	if !dir.info.IsDir() {
		_ = dir.Close()
		return nil, fmt.Errorf("%s is not a directory", show(dir.name))
	}
	f := &findRun{root: dir.name, glob: glob, kind: in.Type, page: newPage(tc), limit: valueOr(in.Limit, findLimit)}
	w := newWalk(ctx, tc, f.root, in.Ignored, f.visit)
	if err := w.visitDir(f.root, dir.File, 1); err != nil && !errors.Is(err, errWalkLimit) {
		return nil, err
	}
	f.page.noteMatches(f.shown, f.found, findCount, "results", "the pattern or the path")
	w.notes(f.page)
	return f.page.result(), nil
}

func (f *findRun) visit(name string, e fs.DirEntry) error {
	if f.kind == "file" && e.IsDir() || f.kind == "directory" && !e.IsDir() || !f.glob.matches(relativeTo(f.root, name)) {
		return nil
	}
	if f.found++; f.found > findCount {
		return errWalkLimit
	}
	name = show(name)
	if e.IsDir() {
		name += "/"
	}
	if f.shown < f.limit && f.page.add(name) {
		f.shown++
	}
	return nil
}
