package mcpconfig

import (
	"slices"
	"strings"

	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig/internal/commandline"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// A row starts at once if its start takes nothing from a project: no text of the row, no directory to start in, no
// program and no file. Everything else is first shown to a person. The approval covers the shown content: see
// describeProjectUse, resolve and fingerprint. The exception is a path that the user wrote out: it means the same
// wherever indus runs, so no clone can choose it.

// describeProjectUse describes the first thing that the start of a row takes from a project. It is "" if the row
// belongs to the project or takes nothing.
func (r *valuedRow) describeProjectUse() string {
	if r.inProject() || r.skipped || r.disabled || r.rowTerritory() == "" {
		return ""
	}
	of := " the project that you are in (" + tree.QuoteWord(r.rowTerritory()) + "), which another person may have written"
	if t, ok := r.server.Transport.(config.Stdio); ok {
		words := append([]string{t.Command}, t.Args...)
		own := r.isWrittenOut(r.dir) && r.isWrittenOut(r.command) && !commandline.Launches(words)
		if !t.Fresh && !own && (r.dir.placed || r.rootOf(t.Dir) != "") {
			return "starts in " + tree.QuoteWord(t.Dir) + ", and so may run code of" + of
		}
		isFound := func(word string) bool {
			isDerived := func(v textValue) bool { return v.derived && v.text == word }
			return (isDerived(r.command) || slices.ContainsFunc(r.args, isDerived)) && r.namesProject(word)
		}
		if word, runs := commandline.ExecutedWord(words, isFound); runs {
			return "runs what it finds by " + tree.QuoteWord(word) + ", which is code of" + of
		}
		for _, variable := range t.Environ() {
			name, value, _ := strings.Cut(variable, "=")
			own := slices.ContainsFunc(t.Env, func(p config.Pair) bool { return p.Name == name })
			inherited := t.InheritEnv && name != "PATH" // PATH is cut: see cutPath
			if (own || inherited) && commandline.Loaders().MatchString(name) && r.namesProject(value) {
				return "finds code by the variable " + tree.QuoteWord(name) + " in" + of
			}
		}
	}
	if len(r.files) > 0 {
		return "reads " + tree.QuoteWord(r.files[0].Path) + ", a file of" + of
	}
	return ""
}

// sortFiles returns files in the order in which they are shown and approved, each once.
func sortFiles(files []RowFile) []RowFile {
	slices.SortFunc(files, func(a, b RowFile) int { return strings.Compare(a.Path, b.Path) })
	return slices.Compact(files)
}
