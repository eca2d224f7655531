package standard

import (
	"context"
	"path"
	"strings"

	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/toolbox"
)

const (
	// maxSuggestions is the number of names that are suggested for a missing name.
	maxSuggestions = 3
	// maxCompared is the number of names of one directory with which a missing name is compared.
	maxCompared = 5000
)

// suggestions returns existing names that the caller may have meant. It finds the first element of
// name that does not exist, and similar names in that directory.
func suggestions(tc *toolbox.Context, name string) []string {
	parent, missing, rest := ".", "", name
	for rest != "" {
		missing, rest, _ = strings.Cut(rest, "/")
		if _, err := tc.FS.Stat(join(parent, missing)); err != nil {
			break
		}
		parent = join(parent, missing)
	}
	similar := similarNames(tc, parent, missing)
	for i, n := range similar {
		similar[i] = join(parent, n)
		if whole := path.Join(similar[i], rest); rest != "" {
			if _, err := tc.FS.Stat(whole); err == nil {
				similar[i] = whole
			}
		}
	}
	return similar
}

// similarNames returns the names in dir that resemble name, the nearest first.
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
		if e.Name() != name { // a symlink to a missing file exists
			names = append(names, e.Name())
		}
	}
	return text.Nearest(name, names, maxSuggestions)
}
