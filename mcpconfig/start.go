package mcpconfig

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/atomicfile"
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

// describeProjectUse describes the first thing that the start of a row takes from a project. It is "" if the row
// belongs to the project or takes nothing.
func (r *valuedRow) describeProjectUse() string {
	if r.inProject() || r.skipped || r.disabled || r.rowTerritory() == "" {
		return ""
	}
	of := " the project that you are in (" + tree.QuoteWord(r.rowTerritory()) + "), which another person may have written"
	if t, ok := r.server.Transport.(config.Stdio); ok {
		words := append([]string{t.Command}, t.Args...)
		own := r.isWrittenOut(r.dir) && r.isWrittenOut(r.command) && !launches(words)
		if !t.Fresh && !own && (r.dir.placed || r.rootOf(t.Dir) != "") {
			return "starts in " + tree.QuoteWord(t.Dir) + ", and so may run code of" + of
		}
		isFound := func(word string) bool {
			isDerived := func(v textValue) bool { return v.derived && v.text == word }
			return (isDerived(r.command) || slices.ContainsFunc(r.args, isDerived)) && r.namesProject(word)
		}
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
	if len(r.files) > 0 {
		return "reads " + tree.QuoteWord(r.files[0].Path) + ", a file of" + of
	}
	return ""
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

// sortFiles returns files in the order in which they are shown and approved, each once.
func sortFiles(files []RowFile) []RowFile {
	slices.SortFunc(files, func(a, b RowFile) int { return strings.Compare(a.Path, b.Path) })
	return slices.Compact(files)
}
