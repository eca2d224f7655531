package standard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/indusagi/indus/toolbox"
)

const (
	// findLimit is how many names find shows by default, findCount how far it counts what
	// it does not show.
	findLimit = 200
	findCount = 100_000
)

// Find is the tool "find": the files and directories below a directory whose names match a glob.
//
// A pattern without a slash is matched against the last element of each name, one with a
// slash against the whole, seen from path. Results are relative to the context's directory and
// sorted; directories end in "/". It enters neither .git, .hg, .svn and .jj nor
// node_modules, nor what .gitignore names, unless path is one or is inside one, and follows no symlinks.
func Find() toolbox.Tool {
	return toolbox.Define("find",
		"Find files and directories by name. A pattern without a slash is matched against names at any depth (*.go); "+
			"one with a slash against the path below the directory (src/**/*.ts, **/test/*). "+
			"Results are sorted paths; directories end in /. .git, node_modules and what .gitignore names are left out. Use grep to search contents.",
		find)
}

type findInput struct {
	Pattern string `json:"pattern" jsonschema:"minLength=1" jsonschema_description:"A glob: *, **, ?, [a-z], {one,two}."`
	Path    string `json:"path,omitempty" jsonschema_description:"The directory to search, relative to the working directory or absolute inside it; the working directory by default."`
	Type    string `json:"type,omitempty" jsonschema:"enum=any,enum=file,enum=directory" jsonschema_description:"What to find, any by default."`
	Ignored bool   `json:"ignored,omitempty" jsonschema_description:"Find what .gitignore names too; false by default."`
	Limit   *int   `json:"limit,omitempty" jsonschema:"minimum=1,maximum=10000" jsonschema_description:"How many results to show, 200 by default."`
}

// finding is one run of the tool.
type finding struct {
	root  string
	glob  namePattern
	kind  string
	limit int
	page  *page
	shown int
	found int
}

func find(ctx context.Context, in findInput) (*toolbox.Result, error) {
	tc := toolbox.ContextOf(ctx)
	f, dir, err := in.open(tc)
	if err != nil {
		return nil, toolbox.Errorf("find: %w", err)
	}
	w := &walk{ctx: ctx, tc: tc, visit: f.visit}
	if !in.Ignored {
		w.ignores = newIgnores(ctx, tc, f.root)
	}
	if err := w.below(f.root, dir, 1); err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	f.notes()
	w.notes(f.page)
	return f.page.result(), nil
}

func (in findInput) open(tc *toolbox.Context) (f *finding, dir fs.File, err error) {
	f = &finding{kind: in.Type, page: newPage(tc), limit: valueOr(in.Limit, findLimit)}
	if f.glob, err = newGlob(in.Pattern); err != nil {
		return nil, nil, err
	}
	if f.root, err = tc.Path(in.Path); err != nil {
		return nil, nil, pathFault(in.Path, err)
	}
	dir, info, err := openFile(tc, f.root)
	if err != nil {
		return nil, nil, err
	}
	if !info.IsDir() {
		_ = dir.Close()
		return nil, nil, fmt.Errorf("%s is not a directory", show(f.root))
	}
	return f, dir, nil
}

func (f *finding) visit(name string, e fs.DirEntry) error {
	if f.kind == "file" && e.IsDir() || f.kind == "directory" && !e.IsDir() || !f.glob.matches(relativeTo(f.root, name)) {
		return nil
	}
	if f.found++; f.found > findCount {
		return errEnough
	}
	if e.IsDir() {
		name = show(name) + "/"
	} else {
		name = show(name)
	}
	if f.shown < f.limit && f.page.add(name) {
		f.shown++
	}
	return nil
}

func (f *finding) notes() {
	switch {
	case f.found == 0:
		f.page.note("nothing matches")
	case f.found > findCount:
		f.page.note("%d of more than %d results; narrow the pattern or the path", f.shown, findCount)
	case f.shown < f.found:
		f.page.note("%d of %d results; narrow the pattern or the path", f.shown, f.found)
	}
}
