package secret

import "strings"

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }
func isBlank(c byte) bool { return c == ' ' || c == '\t' }

const (
	maxQuoted  = 4 << 10 // bytes of a quotation that are searched for its end
	maxEscapes = 3       // backslashes in front of a quote
)

// quotes is a stack of open quotations. A shell has the same notion of them in common texts. So a text in front of a
// quote cannot make the quote that ends it look like the begin of a value:
//
//	echo "token="; this is not a value; echo ""
type quotes struct {
	open [4]int
	n    int
}

// quoteKind returns the kind of the quote at i: the quote, and the number of backslashes in front of it.
func quoteKind(s string, i int) int {
	n := 0
	for n <= maxEscapes && i > n && s[i-n-1] == '\\' {
		n++
	}
	return int(s[i]) | n<<8
}

// read reads the quote at i. If it begins a quotation, read returns its kind. If it ends one, read returns 0.
func (q *quotes) read(s string, i int) (opened int) {
	kind := quoteKind(s, i)
	for k := range q.n {
		if q.open[k] == kind {
			q.n = k
			return 0
		}
	}
	if q.n == len(q.open) {
		return 0
	}
	q.open[q.n] = kind
	q.n++
	return kind
}

// quotedEnd returns the end of a quotation that begins at p, on the same line, or -1. A text that a shell would run has
// no end: a person must see it.
func quotedEnd(s string, p, kind int) int {
	limit := min(len(s), p+maxQuoted)
	for i := p; i < limit; i++ {
		switch c := s[i]; {
		case c == byte(kind) && quoteKind(s, i) == kind:
			return i - kind>>8
		case c == '\n' || c == ';' || c == '|' || c == '`', strings.HasPrefix(s[i:], "$("), strings.HasPrefix(s[i:], "&&"):
			return -1
		}
	}
	return -1
}

// runEnd remembers the end of a run without spaces, because names within one run share it.
type runEnd struct {
	from, to int
	path     int // the last index of a part of a path
}

// of returns the end of the value without quotes that begins at p. A text that a shell would run ends it.
func (r *runEnd) of(s string, p int) int {
	if r.from <= p && p < r.to {
		return r.to
	}
	to := p
	path := -1
	for ; to < len(s); to++ {
		c := s[to]
		if c == '<' {
			if n := markLength(s[to:]); n > 0 && to > p {
				to += n - 1
				continue
			}
		}
		if c <= ' ' || strings.IndexByte("\"'`\\&;|<>,)]}", c) >= 0 ||
			c == '$' && to+1 < len(s) && (s[to+1] == '(' || s[to+1] == '{') {
			break
		}
		if c == '/' && to+1 < len(s) && (s[to+1] == '.' || s[to+1] == '/' && to > p && s[to-1] == ':') {
			path = to
		}
	}
	*r = runEnd{p, to, path}
	return to
}

// isPath reports whether the value in [p,to) is a path or a URL. A person must see where a request goes.
func (r *runEnd) isPath(s string, p, to int) bool {
	v := s[p:to]
	if p <= r.path && r.path < to || strings.HasPrefix(v, "./") || strings.HasPrefix(v, "../") ||
		strings.HasPrefix(v, "~/") {
		return true
	}
	if v == "" || v[0] != '/' {
		return false
	}
	for i := range min(len(v), 32) {
		if 'A' <= v[i] && v[i] <= 'Z' || v[i] == '+' || v[i] == '=' {
			return false // base64
		}
	}
	return true
}

// maxIndent bounds the text in front of a name that is looked at, to find out whether it begins a line.
const maxIndent = 80

// startsLine reports whether only spaces, dashes and quotes are in front of the name at start, as in YAML and in
// headers.
func (x *scanner) startsLine(start int) bool {
	for i := start - 1; i >= max(0, start-maxIndent); i-- {
		switch x.s[i] {
		case '\n':
			return true
		case ' ', '\t', '-', '"', '\'':
		default:
			return false
		}
	}
	return start <= maxIndent
}

// lineStart returns the begin of the line with the byte at i, or of its last part if the line is long.
func lineStart(s string, i int) int {
	from := max(0, i-maxIndent)
	return from + strings.LastIndexByte(s[from:i], '\n') + 1
}

// restOfLine returns the end of the line with the value that ends at to. It returns 0 for prose: the lines around it
// have no names as in YAML or headers, or a shell would run a part of the rest.
func (x *scanner) restOfLine(start, to int) int {
	s := x.s
	end := to
	for ; end < len(s) && s[end] != '\n'; end++ {
		if strings.IndexByte("\"'`\\;|&<>$(){}#,", s[end]) >= 0 || end-to > maxQuoted {
			return 0
		}
	}
	line := lineStart(s, start)
	if line > 0 && hasKey(s[lineStart(s, line-1):line]) ||
		end+1 < len(s) && hasKey(s[end+1:min(len(s), end+1+maxIndent)]) {
		return end - (len(s[to:end]) - len(strings.TrimRight(s[to:end], " \t\r")))
	}
	return 0
}

// hasKey reports whether a line begins with a name and a colon, as in YAML and in headers.
func hasKey(line string) bool {
	line = strings.TrimLeft(line, " \t-\"'")
	n := dashChars.length(line)
	rest := strings.TrimLeft(line[n:], "\"'")
	return n > 0 && (rest == ":" || strings.HasPrefix(rest, ": ") || strings.HasPrefix(rest, ":\n"))
}

// indented hides the lines of YAML below a name: a block, a list or a map. The value of the name is at p. It returns
// the index after them, or 0 if there are none.
func (x *scanner) indented(start, p int) (last int) {
	s := x.s
	for p < len(s) && strings.IndexByte("|>+-0123456789 \r", s[p]) >= 0 && s[p] != '\n' {
		p++
	}
	if p >= len(s) || s[p] != '\n' {
		return 0
	}
	indent := start - lineStart(s, start)
	for p < len(s) && s[p] == '\n' {
		p++
		from := p
		for p < len(s) && (isBlank(s[p]) || s[p] == '-' && strings.HasPrefix(s[p:], "- ")) {
			p++
		}
		if p-from <= indent {
			break
		}
		if n := dashChars.length(s[p:]); n > 0 && strings.HasPrefix(s[p+n:], ": ") {
			p += n + 2
		}
		to := p
		for to < len(s) && s[to] > ' ' && strings.IndexByte(";|&<>$(", s[to]) < 0 {
			to++
		}
		end := to
		for end < len(s) && (isBlank(s[end]) || s[end] == '\r') {
			end++
		}
		if end < len(s) && s[end] != '\n' || strings.HasPrefix(s[p:to], "-----") {
			break // not a value on a line of its own
		}
		if to > p {
			x.hide(p, to)
			last = to
		}
		p = end
	}
	return last
}
