package validate

import (
	"strings"

	"github.com/indusagi/indus/internal/text"
)

// splitPath parts a path into its parent's and its own name.
func splitPath(path string) (parent, name string) {
	at := strings.LastIndexByte(path, '/')
	if at < 0 {
		return "", path
	}
	return path[:at], text.FromPointerStep(path[at+1:])
}

// shownPath is a path for a reader: the root's is "/".
func shownPath(path string) string {
	if path == "" {
		return "/"
	}
	return path
}
