package standard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"

	"github.com/indusagi/indus/toolbox"
)

const (
	// grepLimit is the default number of lines that grep shows. grepCount bounds the counting of
	// further lines.
	grepLimit = 100
	grepCount = 10_000
	// grepFile is the size of the largest file that is searched.
	grepFile = 32 << 20
	// maxPattern is the maximum length of a pattern in bytes. The compiled pattern takes a hundred
	// times as much.
	maxPattern = 10_000
	// grepWidth is the number of bytes of a line that are shown.
	grepWidth = 500
)

// Grep returns the tool "grep", which finds the lines of text files that match a regular
// expression.
//
// The expression has Go's syntax (RE2: no back-references, no look-around, and never exponential
// time). It is matched against one line at a time. Results are listed under the file's name:
// "12:text" is a match, "11-text" is a line around a match, and "--" separates lines that are not
// adjacent.
//
// Grep skips files of more than 32 MiB and files with a NUL byte near their beginning, and reports
// their number.
func Grep() toolbox.Tool {
	return define("grep",
		"Search the contents of text files with a regular expression (RE2 syntax), line by line. "+
			"Matches stand under their file's path as LINE:text, lines around them as LINE-text. "+
			"Binary files, .git, node_modules and what .gitignore names are left out. Use find to search names.",
		grep)
}

type grepInput struct {
	Pattern    string `json:"pattern" jsonschema:"minLength=1" jsonschema_description:"A regular expression in RE2 syntax, or plain text with literal."`
	Path       string `json:"path,omitempty" jsonschema_description:"The file or directory to search, relative to the working directory or absolute inside it; the working directory by default."`
	Glob       string `json:"glob,omitempty" jsonschema_description:"Only files whose name matches: *.go at any depth, src/**/*.ts below path."`
	IgnoreCase bool   `json:"ignore_case,omitempty" jsonschema_description:"Upper and lower case are the same; false by default."`
	Literal    bool   `json:"literal,omitempty" jsonschema_description:"The pattern is plain text; false by default."`
	Ignored    bool   `json:"ignored,omitempty" jsonschema_description:"Search what .gitignore names too; false by default."`
	Context    *int   `json:"context,omitempty" jsonschema:"minimum=0,maximum=20" jsonschema_description:"How many lines to show before and after each match, 0 by default."`
	Limit      *int   `json:"limit,omitempty" jsonschema:"minimum=1,maximum=10000" jsonschema_description:"How many matching lines to show, 100 by default."`
}

func grep(ctx context.Context, tc *toolbox.Context, in grepInput) (*toolbox.Result, error) {
	expr, err := in.expression()
	if err != nil {
		return nil, err
	}
	g := &grepRun{ctx: ctx, tc: tc, expr: expr, page: newPage(tc),
		contextLines: valueOr(in.Context, 0), limit: valueOr(in.Limit, grepLimit)}
	prefix, _ := expr.LiteralPrefix()
	g.prefix = []byte(prefix)
	if in.Glob != "" {
		only, err := newGlob(in.Glob)
		if err != nil {
			return nil, fmt.Errorf("glob: %w", err)
		}
		g.glob = &only
	}
	start, err := openPath(tc, in.Path)
	if err != nil {
		return nil, err
	}
	g.root = start.name
	w := newWalk(ctx, tc, g.root, in.Ignored || !start.info.IsDir(), g.visit)
	if start.info.IsDir() {
		err = w.visitDir(g.root, start.File, 1)
	} else {
		err = g.file(g.root, start.File)
	}
	if err != nil && !errors.Is(err, errWalkLimit) {
		return nil, err
	}
	w.unreadable += g.unreadable
	g.notes()
	w.notes(g.page)
	return g.page.result(), nil
}

func (in grepInput) expression() (*regexp.Regexp, error) {
	pattern := in.Pattern
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("the pattern has more than %d bytes", maxPattern)
	}
	if in.Literal {
		pattern = regexp.QuoteMeta(pattern)
	}
	if in.IgnoreCase {
		pattern = "(?i:" + pattern + ")"
	}
	expr, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("the pattern is not RE2: %w", err)
	}
	return expr, nil
}

// grepRun is one run of the tool.
type grepRun struct {
	ctx          context.Context
	tc           *toolbox.Context
	root         string
	glob         *namePattern // nil: every file
	expr         *regexp.Regexp
	prefix       []byte // the beginning of every match
	contextLines int
	limit        int
	page         *page

	found, shown              int
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
	return g.text(show(name), data)
}

func (g *grepRun) notes() {
	g.page.noteMatches(g.shown, g.found, grepCount, "matching lines", "the pattern, the path or the glob")
	g.page.noteCount(g.binary, "file that is not text was not searched", "files that are not text were not searched")
	g.page.noteCount(g.large, "file over 32 MiB was not searched", "files over 32 MiB were not searched")
}
