package standard

import (
	"context"
	"io/fs"
	"slices"
	"strings"

	"github.com/indusagi/indus/toolbox"
)

const (
	// ignoreFile is the name of the files with git's ignore rules.
	ignoreFile = ".gitignore"
	// maxIgnored is the maximum number of bytes of rules that apply in one place. A file that would exceed it is not
	// used.
	maxIgnored = 256 << 10
)

// ignores holds the rules that apply in one directory, from .git/info/exclude and each .gitignore between the root and
// that directory. A nil pointer has no rules.
type ignores struct {
	ctx    context.Context
	tc     *toolbox.Context
	levels []ignoreLevel

	size    int
	tooLong int // number of files beyond maxIgnored
}

type ignoreLevel struct {
	dir   string
	size  int
	rules []ignoreRule
}

// newIgnores returns the rules of all directories above dir. If dir itself is ignored, it returns nil: a caller that
// requests an ignored directory wants to see its content.
func newIgnores(ctx context.Context, tc *toolbox.Context, dir string) *ignores {
	g := &ignores{ctx: ctx, tc: tc}
	if dir == "." {
		return g
	}
	above := "."
	for element := range strings.SplitSeq(dir, "/") {
		g.enter(above)
		if above = join(above, element); g.isIgnored(above, true) {
			return nil
		}
	}
	return g
}

// enterDir adds the rules of an open directory, if it has rules, and returns the function that removes them.
func (g *ignores) enterDir(dir string, list []fs.DirEntry) (leave func()) {
	hasOwn := func(e fs.DirEntry) bool { return e.Name() == ignoreFile && !e.IsDir() }
	if g == nil || dir != "." && !slices.ContainsFunc(list, hasOwn) {
		return func() {}
	}
	g.enter(dir)
	return g.leave
}

func (g *ignores) enter(dir string) {
	level := ignoreLevel{dir: dir}
	if dir == "." {
		level.add(g, ".git/info/exclude")
	}
	level.add(g, join(dir, ignoreFile))
	g.levels = append(g.levels, level)
}

func (g *ignores) leave() {
	last := len(g.levels) - 1
	g.size -= g.levels[last].size
	g.levels = g.levels[:last]
}

// add appends the rules of a file, if it exists.
func (l *ignoreLevel) add(g *ignores, name string) {
	file, err := g.tc.FS.Open(name)
	if err != nil {
		return
	}
	defer file.Close()
	data, more, err := readUpTo(g.ctx, file, maxIgnored-g.size)
	switch {
	case err != nil: // a directory, for example
		return
	case more:
		g.tooLong++
		return
	}
	g.size += len(data)
	l.size += len(data)
	l.rules = append(l.rules, parseIgnore(data)...)
}

// isIgnored reports whether name is ignored, provided that its parent is not ignored. The last matching rule decides.
func (g *ignores) isIgnored(name string, isDir bool) bool {
	if g == nil {
		return false
	}
	for _, level := range slices.Backward(g.levels) {
		path := relativeTo(level.dir, name)
		for i, rule := range slices.Backward(level.rules) {
			if rule.matches(path, isDir) {
				return !rule.negated
			}
			if i%64 == 0 && g.ctx.Err() != nil {
				return false
			}
		}
	}
	return false
}

// notes adds the number of entries that were left out, and how to include them.
func (g *ignores) notes(p *page, n int) {
	p.noteCount(n, "entry that .gitignore names was left out; ignored: true includes it",
		"entries that .gitignore names were left out; ignored: true includes them")
	if g != nil {
		p.noteCount(g.tooLong, ".gitignore was too long to be heeded", "files called .gitignore were too long to be heeded")
	}
}
