package standard

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

const (
	// maxGlob is the maximum length of a pattern in bytes.
	maxGlob = 1000
	// maxAlternatives bounds the number of patterns to which the braces of a pattern expand. Each
	// of them may have to be tried.
	maxAlternatives = 1000
)

// namePattern is a pattern for names below a directory. A pattern without a slash is matched
// against the last element, so that *.go matches at any depth. A pattern with a slash is matched
// against the whole name.
type namePattern struct {
	pattern string
	isPath  bool
}

func newGlob(pattern string) (namePattern, error) {
	pattern = strings.TrimPrefix(pattern, "./")
	if len(pattern) > maxGlob {
		return namePattern{}, fmt.Errorf("the pattern has more than %d bytes", maxGlob)
	}
	if slices.Contains(strings.Split(pattern, "/"), "..") {
		return namePattern{}, errors.New("the pattern cannot contain ..: give the directory as path")
	}
	if strings.HasPrefix(pattern, "/") {
		return namePattern{}, errors.New("the pattern is relative to path and cannot begin with /")
	}
	if !doublestar.ValidatePattern(pattern) {
		return namePattern{}, errors.New("the pattern is malformed: " +
			"it knows *, **, ?, [a-z], [^a-z] and {one,two}, and \\ before one of those")
	}
	if countAlternatives(pattern) > maxAlternatives {
		return namePattern{}, errors.New("the pattern has too many alternatives in braces")
	}
	return namePattern{pattern: pattern, isPath: strings.Contains(pattern, "/")}, nil
}

// countAlternatives returns an upper bound of the number of patterns to which the braces of pattern
// expand.
func countAlternatives(pattern string) int {
	n, each := 1, strings.Count(pattern, ",")+1
	for range strings.Count(pattern, "{") {
		if n *= each; n > maxAlternatives {
			break
		}
	}
	return n
}

func (g namePattern) matches(name string) bool {
	if !g.isPath {
		name = path.Base(name)
	}
	return doublestar.MatchUnvalidated(g.pattern, name)
}
