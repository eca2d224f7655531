package mcpconfig

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/proc"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig/internal/edit"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// A row starts at once if its start takes nothing from a project: no text of the row, no directory to start in, no
// program and no file. Everything else is first shown to a person. The approval covers the shown content: see
// describeProjectUse, resolve and fingerprint. The exception is a path that the user wrote out: it means the same
// wherever indus runs, so no clone can choose it.

// RowFile is a file or a value that an approval covers by its content. It is a file of the project that a row names, or
// the file of authorities of a project's row. After [Config.Resolve] it can also be a fetched value.
type RowFile struct {
	// Path is absolute, or "${cmd:…}" for the output of a command.
	Path string `json:"path"`
	// Text is the content. For a certificate, a key or a file outside of the project it is a digest.
	Text string `json:"text"`
	// Wrong is why the file cannot be read. It is "" if it can.
	Wrong string `json:"wrong,omitempty"`
}

// territoryOf returns the whole project around a directory: the root of the outermost repository, as a real path. It
// returns "" if the directory is not a project, or if the user's own configuration or state is in it.
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

// rowTerritory returns the project of the file's rows. For a row of the user, it returns the project in which the row
// would start.
func (f *configFile) rowTerritory() string {
	if f.rowProject == nil {
		root := f.place.territoryOf(f.workspace())
		if root == "" && f.inProject() {
			root = atomicfile.Real(f.workspace())
		}
		f.rowProject = &root
	}
	return *f.rowProject
}

// rootOf returns the project that contains a path, by its name or by its real path. It is "" if there is none.
func (f *configFile) rootOf(path string) string {
	root := f.rowTerritory()
	if root == "" || !filepath.IsAbs(path) || !isWithin(root, path) && !isWithin(root, atomicfile.Real(path)) {
		return ""
	}
	return root
}

// projectOf returns the project from which a path takes a file. It is "" if the user wrote the path out.
func (r *reading) projectOf(path string) string {
	if r.isWrittenOut(path) {
		return ""
	}
	return r.rootOf(path)
}

// isWrittenOut reports whether the user wrote a path out: it is absolute, and no part of it depends on the working
// directory, the environment or another file.
func (r *reading) isWrittenOut(path string) bool {
	return !r.inProject() && filepath.IsAbs(path) && !r.derived[path]
}

// fullPath returns the absolute path for a text of the row.
func (r *reading) fullPath(text string) string {
	written := r.tilde(text)
	path := r.absolute(written)
	if written != path || r.derived[written] {
		r.derived[path] = true
	}
	return path
}

// namesProject reports whether a text contains a path in the project.
func (r *reading) namesProject(text string) bool {
	root := r.rowTerritory()
	if root == "" {
		return false
	}
	for _, dir := range []string{r.workspace(), root} {
		for _, rest := range strings.Split(text, dir)[1:] {
			if rest == "" || !isNameByte(rest[0]) {
				return true
			}
		}
	}
	_, value, ok := strings.Cut(text, "=")
	return r.rootOf(text) != "" || ok && r.namesProject(value)
}

func isNameByte(c byte) bool {
	return c == '-' || c == '_' || c == '.' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c >= 0x80
}

// describeProjectUse describes the first thing that the start of a row takes from a project. It is "" if the row
// belongs to the project or takes nothing.
func (r *reading) describeProjectUse() string {
	if r.inProject() || r.State != Active || r.rowTerritory() == "" {
		return ""
	}
	of := " the project that you are in (" + tree.QuoteWord(r.rowTerritory()) + "), which another person may have written"
	if t, ok := r.Server.Transport.(config.Stdio); ok {
		words := append([]string{t.Command}, t.Args...)
		_, placed := r.workspaceTexts[t.Dir]
		own := r.isWrittenOut(t.Dir) && r.isWrittenOut(t.Command) && !launches(words)
		if !t.Fresh && !own && (placed || r.rootOf(t.Dir) != "") {
			return "starts in " + tree.QuoteWord(t.Dir) + ", and so may run code of" + of
		}
		isFound := func(word string) bool { return r.derived[word] && r.namesProject(word) }
		if word, runs := executedWord(words, isFound); runs {
			return "runs what it finds by " + tree.QuoteWord(word) + ", which is code of" + of
		}
		for _, variable := range t.Environ() {
			name, value, _ := strings.Cut(variable, "=")
			own := slices.ContainsFunc(t.Env, func(p config.Pair) bool { return p.Name == name })
			inherited := t.InheritEnv && name != "PATH" // PATH is cut: see cutPath
			if (own || inherited) && loaders().MatchString(name) && r.namesProject(value) {
				return "finds code by the variable " + tree.QuoteWord(name) + " in" + of
			}
		}
	}
	if len(r.Files) > 0 {
		return "reads " + tree.QuoteWord(r.Files[0].Path) + ", a file of" + of
	}
	return ""
}

// coverFile adds a file of the project to the files that an approval covers by their content.
func (r *reading) coverFile(f fetch) {
	if f.root == "" || f.kind == "cmd" {
		return
	}
	result := r.place.projectFile(f)
	r.Files = append(r.Files, RowFile{Path: f.target, Text: result.value, Wrong: result.reason})
}

// projectFile returns the content of a file of the project. It is read once in a reading, so the content that is shown,
// approved and used is the same.
func (p *readContext) projectFile(f fetch) fetchResult {
	p.reading.Lock()
	defer p.reading.Unlock()
	if result, ok := p.files[f.target]; ok {
		return result
	}
	if len(p.files) >= maxFiles {
		return fetchResult{reason: limitReasons["file"]}
	}
	result := readFrom(f)
	p.files[f.target] = result
	return result
}

func readFrom(f fetch) fetchResult {
	path, err := filepath.EvalSymlinks(f.target)
	if err != nil {
		path = f.target // reading it returns the error
	} else if f.root != "" && !isWithin(f.root, path) {
		return fetchResult{reason: "is a link that leads out of the project"}
	}
	text, err := atomicfile.ReadPlain(path, maxFetched)
	if err != nil {
		return fetchResult{reason: edit.Reason(err)}
	}
	return fetchResult{value: string(text)}
}

// cutPath returns a list of directories in which to look for programs. Relative directories are left out, and so are
// directories of the project beside which a row of the user would start. avoided holds the directories of the project.
func (p *readContext) cutPath(list string) (path string, excluded []string) {
	project, current := p.territoryOf(p.Dir), p.territoryOf(".") // p.Dir may have been named, and be in another project
	isInProject := func(dir string) bool {
		return project != "" && isWithin(project, dir) || current != "" && isWithin(current, dir)
	}
	var paths []string
	for _, dir := range filepath.SplitList(list) {
		switch {
		case !filepath.IsAbs(dir):
		case isInProject(dir) || isInProject(atomicfile.Real(dir)):
			excluded = append(excluded, dir)
		default:
			paths = append(paths, dir)
		}
	}
	if excluded == nil {
		return list, nil
	}
	if paths == nil {
		return proc.Command{}.SearchPath(), excluded
	}
	return strings.Join(paths, string(filepath.ListSeparator)), excluded
}

// ownPath returns the PATH of a row that does not belong to the project. It is "" if that is the PATH of this process.
func (f *configFile) ownPath() string {
	if f.inProject() {
		return ""
	}
	path, excluded := f.place.paths()
	if excluded == nil {
		return ""
	}
	return path
}

// variable looks up a variable for a row.
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
