package validate

import (
	"fmt"
	"strings"

	"github.com/indusagi/indus/internal/text"
)

// How much an error shows a model.
const (
	MaxProblems = 8
	maxText     = 2000 // bytes
)

// Error says what is wrong with arguments, for a model to mend its call.
type Error struct {
	// Problems are in the order of their paths. There are at most [MaxProblems].
	Problems []Problem
	// More is how many others there are.
	More int
}

// Problem is one thing that is wrong. All paths are RFC 6901, into the arguments.
type Problem struct {
	// Path leads to what is wrong; to where it should be, if it is missing.
	Path string `json:"path"`
	// Expected is what the schema asks for, in a few words. "": there should be nothing of this name.
	Expected string `json:"expected,omitempty"`
	// Got is what is there, shortened. "": there is nothing.
	Got string `json:"got,omitempty"`
	// Near is the path of a property that may be meant by one that should not be there; "" where none comes near.
	Near string `json:"near,omitempty"`
}

// Error is a line for each problem, about 2 KB at most.
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

// In is the error with other paths: those that path gives for them. Where arguments were written for another schema,
// schema.Adapted.Path says where in it a thing stands.
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

// String is one line: /limit: expected integer, got "ten".
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
