package protocol

import (
	"slices"
	"strings"
	"unicode"
)

// ecmaPattern reports whether s is a regular expression of ECMAScript 2018 in Unicode
// mode (its section 21.2.1), as which Ajv compiles patterns. Of the properties of \p it
// knows the general categories.
func ecmaPattern(s string) bool {
	p := ecma{in: []rune(s)}
	return p.disjunction(0) && p.i == len(p.in) && p.back <= p.groups &&
		!slices.ContainsFunc(p.refs, func(name string) bool { return !slices.Contains(p.names, name) })
}

const maxPatternDepth = 100

// ecma is a pattern that is read.
type ecma struct {
	in          []rune
	i           int
	groups      int // that capture, so far
	back        int // the highest that is referred to
	names, refs []string
}

// peek is the next character; 0 at the end, which no pattern of ours has.
func (p *ecma) peek() rune {
	if p.i < len(p.in) {
		return p.in[p.i]
	}
	return 0
}

func (p *ecma) eat(text string) bool {
	if rest := p.in[p.i:]; len(rest) < len(text) || string(rest[:len(text)]) != text {
		return false
	}
	p.i += len(text)
	return true
}

func (p *ecma) disjunction(depth int) bool {
	for p.i < len(p.in) && p.peek() != ')' {
		if depth == maxPatternDepth || !p.eat("|") && !p.term(depth) {
			return false
		}
	}
	return true
}

func (p *ecma) term(depth int) bool {
	quantifiable := true
	switch c := p.peek(); c {
	case '^', '$':
		p.i++
		quantifiable = false
	case '(':
		around := false
		for _, open := range []string{"(?=", "(?!", "(?<=", "(?<!"} {
			around = around || p.eat(open)
		}
		if !around && !p.eat("(?:") && !p.group() {
			return false
		}
		if !p.disjunction(depth+1) || !p.eat(")") {
			return false
		}
		quantifiable = !around
	case '[':
		if !p.class() {
			return false
		}
	case '\\':
		if p.eat(`\b`) || p.eat(`\B`) {
			quantifiable = false
		} else if _, ok := p.escape(false); !ok {
			return false
		}
	case '*', '+', '?', '{', '}', ']':
		return false
	default:
		p.i++
	}
	return p.quantifier(quantifiable)
}

// group is the beginning of one that captures.
func (p *ecma) group() bool {
	p.i++
	p.groups++
	if !p.eat("?") {
		return true
	}
	name, ok := p.name()
	if !ok || slices.Contains(p.names, name) {
		return false
	}
	p.names = append(p.names, name)
	return true
}

// name is one between < and >; of letters, though others are allowed too.
func (p *ecma) name() (string, bool) {
	if !p.eat("<") {
		return "", false
	}
	from := p.i
	for c := p.peek(); c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '$' || p.i > from && c >= '0' && c <= '9'; c = p.peek() {
		p.i++
	}
	name := string(p.in[from:p.i])
	return name, name != "" && p.eat(">")
}

func (p *ecma) quantifier(allowed bool) bool {
	switch p.peek() {
	case '*', '+', '?':
		p.i++
	case '{':
		p.i++
		low, ok := p.number()
		if !ok {
			return false
		}
		if p.eat(",") {
			if high, ok := p.number(); ok && high < low {
				return false
			}
		}
		if !p.eat("}") {
			return false
		}
	default:
		return true
	}
	p.eat("?")
	return allowed
}

// number is a decimal one; beyond a million it counts no further.
func (p *ecma) number() (n int, ok bool) {
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		n, ok = min(10*n+int(c-'0'), 1_000_000), true
		p.i++
	}
	return n, ok
}

// class is one in brackets.
func (p *ecma) class() bool {
	p.i++
	p.eat("^")
	for !p.eat("]") {
		low, ok := p.member()
		if !ok {
			return false
		}
		if p.peek() != '-' || p.i+1 < len(p.in) && p.in[p.i+1] == ']' {
			continue
		}
		p.i++
		high, ok := p.member()
		if !ok || low < 0 || high < low { // a set is no end of a range
			return false
		}
	}
	return true
}

// member is one character of a class, or a set, which is -1.
func (p *ecma) member() (rune, bool) {
	switch p.peek() {
	case 0:
		return 0, false
	case '\\':
		return p.escape(true)
	}
	p.i++
	return p.in[p.i-1], true
}

// escape is what stands behind a backslash: a character, or -1 for anything else.
func (p *ecma) escape(inClass bool) (rune, bool) {
	p.i++
	c := p.peek()
	p.i++
	switch c {
	case 'd', 'D', 's', 'S', 'w', 'W':
		return -1, true
	case 'p', 'P':
		for _, category := range strings.Fields("L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp C Cc Cf Cs Co Cn") {
			if p.eat("{" + category + "}") {
				return -1, true
			}
		}
		return 0, false
	case 'k':
		name, ok := p.name()
		p.refs = append(p.refs, name)
		return -1, ok && !inClass
	case 't', 'n', 'v', 'f', 'r':
		return map[rune]rune{'t': '\t', 'n': '\n', 'v': '\v', 'f': '\f', 'r': '\r'}[c], true
	case 'b', '-':
		if c == 'b' {
			return '\b', inClass
		}
		return '-', inClass
	case 'c':
		letter := p.peek()
		p.i++
		return letter & 0x1f, letter|0x20 >= 'a' && letter|0x20 <= 'z'
	case '0':
		next := p.peek()
		return 0, next < '0' || next > '9'
	case 'x':
		return p.hex(2)
	case 'u':
		if p.eat("{") {
			n, ok := p.hex(0)
			return n, ok && p.eat("}")
		}
		return p.unit()
	}
	if c >= '1' && c <= '9' && !inClass {
		p.i--
		n, _ := p.number()
		p.back = max(p.back, n)
		return -1, true
	}
	return c, c != 0 && strings.ContainsRune(`^$\.*+?()[]{}|/`, c)
}

// unit is the four digits of \u, and of the one behind it where both are one character.
func (p *ecma) unit() (rune, bool) {
	high, ok := p.hex(4)
	if ok && high >= 0xd800 && high < 0xdc00 {
		if at := p.i; p.eat(`\u`) {
			if low, ok := p.hex(4); ok && low >= 0xdc00 && low < 0xe000 {
				return (high-0xd800)<<10 + low - 0xdc00 + 0x10000, true
			}
			p.i = at
		}
	}
	return high, ok
}

// hex is n digits; 0: any number of them, up to the last character there is.
func (p *ecma) hex(n int) (v rune, ok bool) {
	for k := 0; n == 0 || k < n; k++ {
		d := strings.IndexRune("0123456789abcdef", unicode.ToLower(p.peek()))
		if d < 0 {
			return v, n == 0 && k > 0
		}
		if v = v<<4 | rune(d); v > 0x10ffff {
			return 0, false
		}
		p.i++
	}
	return v, true
}
