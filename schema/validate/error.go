package validate

import (
	"fmt"
	"strings"

	"github.com/indusagi/indus/internal/text"
)

// The amount of text that an error shows to a model.
const (
	MaxProblems = 8
	maxText     = 2000 // bytes
)

// Error describes the faults of arguments, so that a model can correct its call.
type Error struct {
	// Problems are sorted by path. There are at most [MaxProblems].
	Problems []Problem
	// More is the number of problems that are not listed.
	More int
}

// Problem is one fault. All paths are RFC 6901, into the arguments.
type Problem struct {
	// Path leads to the faulty value. If a value is missing, it leads to the place of that value.
	Path string `json:"path"`
	// Expected describes in a few words the value that the schema requires. It is "" if no property of this name is
	// allowed.
	Expected string `json:"expected,omitempty"`
	// Got is the actual value, shortened. It is "" if there is no value.
	Got string `json:"got,omitempty"`
	// Near is the path of a known property with a name similar to an unknown one. It is "" if there is none.
	Near string `json:"near,omitempty"`
}

// Error returns one line for each problem, with at most about 2 KB in total.
func (e *Error) Error() string {
	var b strings.Builder
	more := e.More
	for i, p := range e.Problems {
		line := p.String()
		if i > 0 && b.Len()+len(line) > maxText {
			more += len(e.Problems) - i
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(line)
	}
	if more > 0 {
		fmt.Fprintf(&b, "\nand %d more", more)
	}
	return b.String()
}

// In returns a copy of the error with each path replaced by path's result for it. If the arguments were written for an
// adapted schema, pass schema.Adapted.Path.
func (e *Error) In(path func(string) string) *Error {
	out := &Error{Problems: make([]Problem, len(e.Problems)), More: e.More}
	for i, p := range e.Problems {
		p.Path = path(p.Path)
		if p.Near != "" {
			p.Near = path(p.Near)
		}
		out.Problems[i] = p
	}
	return out
}

// String returns one line, such as: /limit: expected integer, got "ten".
func (p Problem) String() string {
	parent, name := splitPath(p.Path)
	at := shorten(shownPath(parent), maxShownPath)
	switch {
	case p.Got == "" && p.Expected == "any":
		return fmt.Sprintf("%s: missing required %s", at, quote(name))
	case p.Got == "":
		return fmt.Sprintf("%s: missing required %s (%s)", at, quote(name), p.Expected)
	case p.Expected == "" && p.Near == "":
		return fmt.Sprintf("%s: unknown property %s", at, quote(name))
	case p.Expected == "":
		_, near := splitPath(p.Near)
		return fmt.Sprintf("%s: unknown property %s; did you mean %s?", at, quote(name), quote(near))
	}
	return fmt.Sprintf("%s: expected %s, got %s", shorten(shownPath(p.Path), maxShownPath), p.Expected, p.Got)
}

const (
	maxShownPath = 120
	maxShownName = 80
	maxGot       = 60
)

// splitPath splits a path into the path of its parent and its last name.
func splitPath(path string) (parent, name string) {
	at := strings.LastIndexByte(path, '/')
	if at < 0 {
		return "", path
	}
	return path[:at], text.FromPointerStep(path[at+1:])
}

// shownPath returns a path for a message. The path of the root is "/".
func shownPath(path string) string {
	if path == "" {
		return "/"
	}
	return path
}
