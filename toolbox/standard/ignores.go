package standard

import (
	"context"
	"io/fs"
	"slices"
	"strings"

	"github.com/indusagi/indus/toolbox"
)

const (
	// ignoreFile is where git looks for what it is not to track.
	ignoreFile = ".gitignore"
	// maxIgnored is how many bytes of rules may apply in one place; what is beyond that is not heeded.
	maxIgnored = 256 << 10
)

// ignores are the rules that apply in one directory, from .git/info/exclude and each .gitignore between the root and there.
// A nil pointer has none.
type ignores struct {
	ctx    context.Context
	tc     *toolbox.Context
	levels []ignoreLevel

	size    int
	tooLong int // files beyond maxIgnored
}

type ignoreLevel struct {
	dir   string
	size  int
	rules []ignoreRule
}

// newIgnores has the rules of all directories above dir. Who asks for a directory that is ignored itself wants to see what
// is in it: then there are none.
func newIgnores(ctx context.Context, tc *toolbox.Context, dir string) *ignores {
	g := &ignores{ctx: ctx, tc: tc}
	if dir == "." {
		return g
	}
	above := "."
	for element := range strings.SplitSeq(dir, "/") {
		g.enter(above)
		if above = join(above, element); g.has(above, true) {
			return nil
		}
	}
	return g
}

// within enters an open directory if it has rules of its own, and gives what leaves it.
func (g *ignores) within(dir string, list []fs.DirEntry) (leave func()) {
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

// add appends the rules of a file, which need not be there.
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

// has reports whether name is ignored, if what it is in is not. The last rule that matches decides.
func (g *ignores) has(name string, isDir bool) bool {
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

// notes says how much was left out, and how to get it.
func (g *ignores) notes(p *page, n int) {
	p.count(n, "entry that .gitignore names was left out; ignored: true includes it",
		"entries that .gitignore names were left out; ignored: true includes them")
	if g != nil {
		p.count(g.tooLong, ".gitignore was too long to be heeded", "files called .gitignore were too long to be heeded")
	}
}
