package validate

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
)

// A regular expression takes memory for each of its instructions, and time for each of them at each character.
const (
	maxPattern  = 4 << 10 // bytes of one
	maxOne      = 10_000  // instructions of one
	maxTogether = 100_000 // of all in one schema
)

// foreignSyntax is what Go reads as something else than JavaScript does.
var foreignSyntax = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\\[aACEQzZ]|\\[pP][^{]|\\x\{|\[\^?\]|\[:`)
})

// asciiClasses are what Go, as JavaScript mostly does, takes for ASCII, and Python and Rust do not.
var asciiClasses = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\[wWdDsSbB]`) })

// pattern is a regular expression that is known to be small.
type pattern struct {
	*regexp.Regexp
	classes bool
	size    int // instructions, about
}

// cost is what it takes to match a text of so many bytes, in the units of [maxWork].
func (p *pattern) cost(length int) int { return length * p.size / stepsPerUnit }

// patterns are the regular expressions of one schema, by their text; nil stands for one that cannot be used.
type patterns struct {
	known map[string]*pattern
	size  int
}

func newPatterns() *patterns { return &patterns{known: map[string]*pattern{}} }

// get is the pattern of a text, nil where it cannot be used.
func (ps *patterns) get(text string) *pattern {
	if ps == nil {
		return nil
	}
	p, ok := ps.known[text]
	if !ok {
		p = ps.compile(text)
		ps.known[text] = p
	}
	return p
}

func (ps *patterns) compile(text string) *pattern {
	escapes := strings.ReplaceAll(text, `\\`, "")
	if len(text) > maxPattern || foreignSyntax().MatchString(escapes) {
		return nil
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil
	}
	size := instructions(parsed)
	if size > maxOne || ps.size+size > maxTogether {
		return nil
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		return nil
	}
	ps.size += size
	return &pattern{compiled, asciiClasses().MatchString(escapes), size}
}

// instructions is about how many a regular expression is compiled to, at most a little over maxOne.
func instructions(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)/8
	for _, sub := range re.Sub {
		if n += instructions(sub); n > maxOne {
			return n
		}
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return n
}
