package protocol

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// The parts of a regular expression that ECMAScript 2018 in Unicode mode (its section 21.2.1) and
// Go read alike, and the look-around that only the former has.
const (
	patternCategory  = `\\[pP]\{(?:L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfos]?)\}`
	patternSet       = `(?:\\[dDsSwW]|` + patternCategory + `)`
	patternEscape    = `\\(?:[tnvfr^$\\.*+?()\[\]{}|/]|x[0-9a-fA-F]{2}|u[0-9a-cA-CefEF][0-9a-fA-F]{3}|u[dD][0-7][0-9a-fA-F]{2}|u\{[0-9a-fA-F]{1,6}\})`
	patternMember    = `(?:[^\[\]\\-]|\\-|` + patternEscape + `)`
	patternClass     = `\[\^?-?(?:` + patternMember + `-` + patternMember + `|` + patternMember + `|` + patternSet + `)*-?\]`
	patternRepeated  = `(?:[^\\^$*+?()\[\]{}|]|\)|` + patternEscape + `|` + patternSet + `|` + patternClass + `)`
	patternQuantity  = `(?:(?:[*+?]|\{[0-9]{1,3}(?:,(?:[0-9]{1,3})?)?\})\??)?`
	patternOther     = `(?:[\^$|]|\\[bB]|\((?:\?(?:[:=!]|<[=!]|<[A-Za-z_][A-Za-z0-9_]*>))?)`
	maxPatternLength = 4096
)

// patternParts are compiled when they are first needed, which is seldom.
var patternParts = sync.OnceValue(func() (p struct{ shared, lookAround, quantifiedEnd, escapes *regexp.Regexp }) {
	p.shared = regexp.MustCompile(`^(?:` + patternRepeated + patternQuantity + `|` + patternOther + `)*$`)
	p.lookAround = regexp.MustCompile(`\(\?<?[=!]`)
	p.quantifiedEnd = regexp.MustCompile(`\)[*+?{]`)
	p.escapes = regexp.MustCompile(`\\(?:u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|.)`)
	return p
})

// ecmaPattern reports whether Ajv surely compiles a pattern: it consists of what JavaScript reads
// as Go does, or of look-around, and Go compiles the rest. Back references, and what else only
// JavaScript knows, are not sure.
func ecmaPattern(s string) bool {
	parts := patternParts()
	if len(s) > maxPatternLength || !parts.shared.MatchString(s) || parts.lookAround.MatchString(s) && parts.quantifiedEnd.MatchString(s) {
		return false
	}
	s = parts.escapes.ReplaceAllStringFunc(s, func(escape string) string {
		if digits, ok := strings.CutPrefix(escape, `\u`); ok {
			return `\x{` + strings.Trim(digits, "{}") + `}`
		}
		return escape
	})
	p, err := regexp.Compile(parts.lookAround.ReplaceAllString(s, "(?:"))
	if err != nil {
		return false
	}
	names := slices.DeleteFunc(p.SubexpNames(), func(name string) bool { return name == "" })
	slices.Sort(names)
	return len(slices.Compact(slices.Clone(names))) == len(names)
}
