package standard

import (
	"context"
	"io"
	"io/fs"

	"github.com/indusagi/indus/toolbox"
)

// grepping is one run of the tool.
type grepping struct {
	ctx    context.Context
	tc     *toolbox.Context
	root   string
	glob   *namePattern // nil: every file
	search *search
	page   *page

	binary, large, unreadable int
}

func (g *grepping) visit(name string, e fs.DirEntry) error {
	if !e.Type().IsRegular() || g.glob != nil && !g.glob.matches(relativeTo(g.root, name)) {
		return nil
	}
	file, err := g.tc.FS.Open(name)
	if err != nil {
		g.unreadable++
		return nil
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		g.unreadable++
		return nil
	}
	return g.file(name, file, info)
}

// file searches one open file and closes it.
func (g *grepping) file(name string, file fs.File, info fs.FileInfo) error {
	defer file.Close()
	if info.Size() > grepFile {
		g.large++
		return nil
	}
	// One byte more tells a file that grows.
	data, err := io.ReadAll(io.LimitReader(ctxReader{g.ctx, file}, grepFile+1))
	switch {
	case g.ctx.Err() != nil:
		return g.ctx.Err()
	case err != nil:
		g.unreadable++
		return nil
	case len(data) > grepFile:
		g.large++
		return nil
	case isBinary(data):
		g.binary++
		return nil
	}
	return g.search.text(show(name), data)
}

func (g *grepping) notes() {
	s := g.search
	switch {
	case s.found == 0:
		g.page.note("nothing matches")
	case s.found > grepCount:
		g.page.note("%d of more than %d matching lines; narrow the pattern, the path or the glob", s.shown, grepCount)
	case s.shown < s.found:
		g.page.note("%d of %d matching lines; narrow the pattern, the path or the glob", s.shown, s.found)
	}
	g.page.count(g.binary, "file that is not text was not searched", "files that are not text were not searched")
	g.page.count(g.large, "file over 32 MiB was not searched", "files over 32 MiB were not searched")
}
