package validate

import (
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/indusagi/indus/internal/text"
)

// Bounds on regular expressions. Each instruction takes memory, and takes time at each character of a text.
const (
	maxPattern           = 4 << 10 // bytes of one regular expression
	maxInstructions      = 10_000  // instructions of one regular expression
	maxTotalInstructions = 100_000 // instructions of all regular expressions in one schema
)

// foreignSyntax matches syntax that Go and JavaScript read differently.
var foreignSyntax = text.Pattern(`\\[aACEQzZ]|\\[pP][^{]|\\x\{|\[\^?\]|\[:`)

// asciiClasses matches classes that are ASCII in Go and mostly in JavaScript, but not in Python and Rust.
var asciiClasses = text.Pattern(`\\[wWdDsSbB]`)

// pattern is a regular expression of bounded size.
type pattern struct {
	*regexp.Regexp
	classes bool
	size    int // approximate number of instructions
}

// cost returns the work to match a text of the given length, in the units of [maxWork].
func (p *pattern) cost(length int) int { return length * p.size / stepsPerUnit }

// pattern returns the pattern for a text, or nil if it cannot be used.
func (c *compiler) pattern(text string) *pattern {
	if c.patterns == nil {
		return nil
	}
	p, ok := c.patterns[text]
	if !ok {
		p = c.compilePattern(text)
		c.patterns[text] = p
	}
	return p
}

func (c *compiler) compilePattern(text string) *pattern {
	escapes := strings.ReplaceAll(text, `\\`, "")
	if len(text) > maxPattern || foreignSyntax().MatchString(escapes) {
		return nil
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil
	}
	size := instructions(parsed)
	if size > maxInstructions || c.patternSize+size > maxTotalInstructions {
		return nil
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		return nil
	}
	c.patternSize += size
	return &pattern{compiled, asciiClasses().MatchString(escapes), size}
}

// instructions estimates the number of instructions of a compiled regular expression. The result is at most a little
// over maxInstructions.
func instructions(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)/8
	for _, sub := range re.Sub {
		n += instructions(sub)
		if n > maxInstructions {
			return n
		}
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return n
}
