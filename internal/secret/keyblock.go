package secret

import "strings"

const maxLabel = 60 // bytes of the label of a private key

// keyLabel returns the length of the label of a private key at the start of s, with its dashes, or 0. "BEGIN " is in
// front of it.
func keyLabel(s string) int {
	const key = "PRIVATE KEY"
	n := strings.Index(s[:min(len(s), maxLabel)], key)
	if n < 0 || strings.Trim(s[:n], "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ") != "" {
		return 0
	}
	n += len(key)
	if strings.HasPrefix(s[n:], " BLOCK") {
		n += len(" BLOCK")
	}
	dashes := 0
	for n+dashes < len(s) && (s[n+dashes] == '-' || dashes == 0 && s[n] == ' ') {
		dashes++
	}
	if dashes < 4 {
		return 0
	}
	return n + dashes
}

// blockEnds remembers the next ends and begins of blocks of keys, so that a text with many begins is searched once.
type blockEnds struct{ end, begin nextIndex }

type nextIndex struct {
	at    int
	known bool
}

// after returns the index of part at or after p, or the length of s.
func (n *nextIndex) after(s, part string, p int) int {
	if !n.known || n.at < p {
		n.known, n.at = true, len(s)
		if i := strings.Index(s[p:], part); i >= 0 {
			n.at = p + i
		}
	}
	return n.at
}

// block hides the lines of a private key that begin at p. It ends at its END, or at the last line that looks like a
// part of a key. Lines with several words are shown, except for secrets in them: they may be a command.
func (x *scanner) block(p int) int {
	s := x.s
	end, next := x.blocks.end.after(s, "-END ", p), x.blocks.begin.after(s, "-BEGIN ", p)
	closed := end < next
	end = min(end, next)
	from, last := -1, p // of the lines to hide
	flush := func() {
		if from >= 0 {
			x.hide(from, last)
		}
		from = -1
	}
	for p < end {
		p = lineBegin(s, p, end)
		to := p
		for to < end && s[to] != '\n' && s[to] != '\r' && s[to] != '\\' {
			to++
		}
		line := strings.TrimRight(strings.TrimSuffix(s[p:to], " +"), " \t\"'`,")
		if to == end && closed {
			line = strings.TrimRight(line, "-")
		}
		switch {
		case line == "":
		case isKeyLine(line, closed):
			if from < 0 {
				from = p
			}
			last = p + len(line)
		case !closed && !isKeyHeader(line):
			flush()
			return max(last, p)
		default:
			flush()
			eachLikely(s[p:to], func(a, b int) { x.hide(p+a, p+b) })
		}
		p = to
	}
	flush()
	return end
}

// lineBegin returns the begin of the next line: after line ends, which may be escaped, and the quotes and signs with
// which languages join texts.
func lineBegin(s string, p, end int) int {
	for ; p < end; p++ {
		switch c := s[p]; {
		case c == '\\':
			if p+1 < end && (s[p+1] == 'n' || s[p+1] == 'r') {
				p++
			}
		case c == '+' && p+1 < end && s[p+1] > ' ':
			return p
		case strings.IndexByte(" \t\r\n\"'`,+", c) < 0:
			return p
		}
	}
	return end
}

var base64Chars = alphabetOf("+/=")

// isKeyLine reports whether a line is a part of a private key. In a block with an end, any line of one word is.
func isKeyLine(line string, closed bool) bool {
	n := base64Chars.length(line)
	if n == len(line) {
		return closed || n >= 8
	}
	if line[n] == ' ' && n >= 16 { // line ends have become spaces
		return strings.Trim(line, " ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") == ""
	}
	return closed && !strings.ContainsAny(line, " \t;|&<>$(`")
}

// isKeyHeader reports whether a line is a header of an encrypted key, such as "Proc-Type: 4,ENCRYPTED".
func isKeyHeader(line string) bool {
	n := dashChars.length(line)
	return n > 0 && strings.HasPrefix(line[n:], ": ") || n == len(line) && strings.HasSuffix(line, "ENCRYPTED")
}
