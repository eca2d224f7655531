package mcpconfig

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/proc"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/mcpconfig/internal/edit"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// A row starts at once if its start takes nothing from a project: no text of the row, no directory to start in, no
// program and no file. Everything else is shown to a person first, and the approval covers what was shown: see takes,
// resolve and fingerprint.

// RowFile is a file that an approval covers by what it holds: a file of the project that a row names, the authorities of
// a project's row, and after [Config.Resolve] what was fetched.
type RowFile struct {
	// Path is absolute, or "${cmd:…}" for what a command printed.
	Path string `json:"path"`
	// Text is what the file holds. Of a certificate, a key or a file outside of the project it is the digest.
	Text string `json:"text"`
	// Wrong says why the file cannot be read; "" if it can.
	Wrong string `json:"wrong,omitempty"`
}

// territoryOf returns the whole project around a directory: from the root of the outermost repository. It is a real
// path, and "" if the directory is no project, or if the user's own configuration or state lies in it.
func (p *readContext) territoryOf(dir string) string {
	root := atomicfile.Real(dir)
	if !p.isProject(root) {
		return ""
	}
	for up := root; p.isProject(up); up = filepath.Dir(up) {
		if _, err := os.Lstat(filepath.Join(up, ".git")); err == nil {
			root = up
		}
	}
	for _, own := range []string{p.XDG, p.State} {
		if own != "" && isWithin(root, atomicfile.Real(own)) {
			return ""
		}
	}
	return root
}

// territoryHere returns the project of the file's rows, or of a row of the user's the one in which it would start.
func (f *configFile) territoryHere() string {
	if f.territory == nil {
		root := f.place.territoryOf(f.workspace())
		if root == "" && f.inProject() {
			root = atomicfile.Real(f.workspace())
		}
		f.territory = &root
	}
	return *f.territory
}

// rootOf returns the project in which a path lies, by its name or really; "" elsewhere.
func (f *configFile) rootOf(path string) string {
	root := f.territoryHere()
	if root == "" || !filepath.IsAbs(path) || !isWithin(root, path) && !isWithin(root, atomicfile.Real(path)) {
		return ""
	}
	return root
}

// names reports whether a text names a path in the project, whatever stands around it.
func (r *reading) names(text string) bool {
	root := r.territoryHere()
	if root == "" {
		return false
	}
	for _, dir := range []string{r.workspace(), root} {
		for _, behind := range strings.Split(text, dir)[1:] {
			if behind == "" || !isNameByte(behind[0]) {
				return true
			}
		}
	}
	_, value, ok := strings.Cut(text, "=")
	return r.rootOf(text) != "" || ok && r.names(value)
}

func isNameByte(c byte) bool {
	return c == '-' || c == '_' || c == '.' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c >= 0x80
}

// takes says what the start of a row that is not a project's takes from one; "" if it takes nothing.
func (r *reading) takes() string {
	if r.inProject() || r.State != Active || r.territoryHere() == "" {
		return ""
	}
	in := ", the project " + tree.QuoteWord(r.workspace())
	if t, ok := r.Server.Transport.(interop.Stdio); ok {
		_, placed := r.placed[t.Dir]
		if !t.Fresh && (placed || r.rootOf(t.Dir) != "") {
			return "starts in " + tree.QuoteWord(t.Dir) + in
		}
		if word, runs := runsOf(append([]string{t.Command}, t.Args...), r.names); runs {
			return "runs what it finds by " + tree.QuoteWord(word) + in
		}
		for _, variable := range t.Environ() {
			name, value, _ := strings.Cut(variable, "=")
			own := slices.ContainsFunc(t.Env, func(p interop.Pair) bool { return p.Name == name })
			inherited := t.InheritEnv && name != "PATH" // which is cut: see cutPath
			if (own || inherited) && loaders().MatchString(name) && r.names(value) {
				return fmt.Sprintf("finds code by %s%s", tree.Quote(name), in)
			}
		}
	}
	if len(r.Files) > 0 {
		return "reads " + tree.QuoteWord(r.Files[0].Path) + in
	}
	return ""
}

// hold adds a file of the project to those that an approval covers by their content.
func (r *reading) hold(f fetch) {
	if f.root == "" || f.kind == "cmd" {
		return
	}
	got := r.place.projectFile(f)
	r.Files = append(r.Files, RowFile{Path: f.what, Text: got.value, Wrong: got.wrong})
}

// projectFile returns what a file of the project holds. It is read once in a reading, so that what is shown, approved and
// used is the same.
func (p *readContext) projectFile(f fetch) fetchResult {
	p.reading.Lock()
	defer p.reading.Unlock()
	if got, ok := p.files[f.what]; ok {
		return got
	}
	if len(p.files) >= maxFiles {
		return fetchResult{wrong: tooMany["file"]}
	}
	got := readFrom(f)
	p.files[f.what] = got
	return got
}

func readFrom(f fetch) fetchResult {
	path, err := filepath.EvalSymlinks(f.what)
	if err != nil {
		path = f.what // reading it says what is wrong
	} else if f.root != "" && !isWithin(f.root, path) {
		return fetchResult{wrong: "is a link that leads out of the project"}
	}
	text, err := atomicfile.ReadPlain(path, maxFetched)
	if err != nil {
		return fetchResult{wrong: edit.Reason(err)}
	}
	return fetchResult{value: string(text)}
}

// cutPath returns a list of directories to look for programs in, without those of the project that a row of the user's
// would start beside and without relative ones, and the directories of the project.
func (p *readContext) cutPath(list string) (path string, avoided []string) {
	here, around := p.territoryOf(p.Dir), p.territoryOf(".") // which may have been named, and be another
	theirs := func(dir string) bool {
		return here != "" && isWithin(here, dir) || around != "" && isWithin(around, dir)
	}
	var kept []string
	for _, dir := range filepath.SplitList(list) {
		switch {
		case !filepath.IsAbs(dir):
		case theirs(dir) || theirs(atomicfile.Real(dir)):
			avoided = append(avoided, dir)
		default:
			kept = append(kept, dir)
		}
	}
	if avoided == nil {
		return list, nil
	}
	if kept == nil {
		return proc.Command{}.SearchPath(), avoided
	}
	return strings.Join(kept, string(filepath.ListSeparator)), avoided
}

// ownPath returns the PATH of a row that is not the project's; "" if it is this process's own.
func (f *configFile) ownPath() string {
	if f.inProject() {
		return ""
	}
	path, avoided := f.place.paths()
	if avoided == nil {
		return ""
	}
	return path
}

// variable looks one up for a row.
func (f *configFile) variable(name string) (string, bool) {
	value, ok := f.place.Env(name)
	if name == "PATH" && !f.inProject() {
		value, _ = f.place.cutPath(value)
	}
	return value, ok
}

// sortFiles returns files in the order in which they are shown and approved, each once.
func sortFiles(files []RowFile) []RowFile {
	slices.SortFunc(files, func(a, b RowFile) int { return strings.Compare(a.Path, b.Path) })
	return slices.Compact(files)
}
