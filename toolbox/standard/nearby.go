package standard

import (
	"context"
	"path"
	"strings"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/toolbox"
)

const (
	// maxSuggestions is how many names a missing one is answered with.
	maxSuggestions = 3
	// compared is how many names of one directory it is compared with.
	maxCompared = 5000
)

// suggestions are names that exist and that the caller may have meant by name: it finds the
// element where the name goes wrong, and what in that directory is written almost
// like it.
func suggestions(tc *toolbox.Context, name string) []string {
	parent, wrong, rest := ".", "", name
	for rest != "" {
		wrong, rest, _ = strings.Cut(rest, "/")
		if _, err := tc.FS.Stat(join(parent, wrong)); err != nil {
			break
		}
		parent = join(parent, wrong)
	}
	near := similarNames(tc, parent, wrong)
	for i, n := range near {
		near[i] = join(parent, n)
		if whole := path.Join(near[i], rest); rest != "" {
			if _, err := tc.FS.Stat(whole); err == nil {
				near[i] = whole
			}
		}
	}
	return near
}

// similarNames are the names in dir that are written like name, the nearest first.
func similarNames(tc *toolbox.Context, dir, name string) []string {
	file, err := tc.FS.Open(dir)
	if err != nil {
		return nil
	}
	defer file.Close()
	list, _, err := entries(context.Background(), file)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range list[:min(len(list), maxCompared)] {
		if e.Name() != name { // a symlink to nowhere is there
			names = append(names, e.Name())
		}
	}
	return text.Nearest(name, names, maxSuggestions)
}
