package text

import (
	"regexp"
	"sync"
)

// Pattern returns a function that compiles a regular expression at its first call. Most runs of a program need few of
// its expressions, and compiling all of them takes more time than the rest of its start.
func Pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
