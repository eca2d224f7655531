package standard

import (
	"context"
	"io/fs"

	"github.com/indusagi/indus/toolbox"
)

// grepRun is one run of the tool.
type grepRun struct {
	ctx    context.Context
	tc     *toolbox.Context
	root   string
	glob   *namePattern // nil: every file
	search *search
	page   *page

	binary, large, unreadable int
}

func (g *grepRun) visit(name string, e fs.DirEntry) error {
	if !e.Type().IsRegular() || g.glob != nil && !g.glob.matches(relativeTo(g.root, name)) {
		return nil
	}
	file, err := g.tc.FS.Open(name)
	if err != nil {
		g.unreadable++
		return nil
	}
	return g.file(name, file)
}

// file searches one open file and closes it.
func (g *grepRun) file(name string, file fs.File) error {
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		g.unreadable++
		return nil
	}
	if info.Size() > grepFile {
		g.large++
		return nil
	}
	data, more, err := readUpTo(g.ctx, file, grepFile)
	switch {
	case g.ctx.Err() != nil:
		return g.ctx.Err()
	case err != nil:
		g.unreadable++
		return nil
	case more:
		g.large++
		return nil
	case isBinary(data):
		g.binary++
		return nil
	}
	return g.search.text(show(name), data)
}

func (g *grepRun) notes() {
	g.page.noteMatches(g.search.shown, g.search.found, grepCount, "matching lines", "the pattern, the path or the glob")
	g.page.noteCount(g.binary, "file that is not text was not searched", "files that are not text were not searched")
	g.page.noteCount(g.large, "file over 32 MiB was not searched", "files over 32 MiB were not searched")
}
