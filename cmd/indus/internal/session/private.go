package session

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/toolbox/standard"
)

// fileTools are the built-in tools that read files.
var fileTools = []string{"read", "ls", "grep", "find"}

// isHarmless reports whether a call runs without asking. Reads of files do, unless the working directory is private.
func (x *session) isHarmless(a agent.Ask) bool {
	if a.Tool.Server != "" || !standard.Harmless(a.Call) {
		return false
	}
	return x.private == "" || !slices.Contains(fileTools, a.Call.Name)
}

// privateReason returns the reason for which reads of files in the directory must ask, or "" in a project. The home
// directory, its hidden directories and the system's directories for programs hold keys, tokens, browser profiles and
// transcripts.
func privateReason(dir string, homes, own []string) string {
	for _, home := range homes {
		if command.IsBelow(home, dir) {
			return "the home directory is in the working directory"
		}
		for at := dir; at != filepath.Dir(at); at = filepath.Dir(at) {
			first := strings.ToLower(filepath.Base(at))
			hidden := strings.HasPrefix(first, ".") || first == "library" || first == "appdata"
			if hidden && command.SameDirectory(home, filepath.Dir(at)) {
				return "the working directory is in " + filepath.Join("~", filepath.Base(at)) +
					", where programs keep their own data"
			}
		}
	}
	for _, place := range own {
		if command.IsBelow(place, dir) || command.IsBelow(dir, place) {
			return "indus keeps its own files in the working directory"
		}
	}
	return ""
}
