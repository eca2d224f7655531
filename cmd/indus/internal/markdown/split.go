package markdown

import "strings"

// Splitter splits a text that arrives in pieces into blocks: paragraphs, headings, list items, tables and code fences.
// The zero Splitter is ready for use.
type Splitter struct {
	lines     []string // the complete lines of the arriving block
	partial   []byte   // the arriving line
	fence     string   // the opening mark of the current fence
	lastBlank bool     // the last complete line is blank
}

// Add adds a piece and returns the blocks that it completes.
func (s *Splitter) Add(piece string) (blocks []string) {
	for {
		line, rest, complete := strings.Cut(piece, "\n")
		s.partial = append(s.partial, line...)
		if !complete {
			return blocks
		}
		if block := s.endLine(); block != "" {
			blocks = append(blocks, block)
		}
		piece = rest
	}
}

// endLine completes the last line. If this line begins a new block, line returns the previous one.
func (s *Splitter) endLine() (block string) {
	line := strings.TrimSuffix(string(s.partial), "\r")
	s.partial = s.partial[:0]
	if s.fence == "" && s.lastBlank && line != "" && line[0] != ' ' && line[0] != '\t' {
		block = s.takeBlock()
	}
	text := strings.TrimSpace(line)
	s.lastBlank = text == ""
	if !s.lastBlank || len(s.lines) > 0 {
		s.lines = append(s.lines, line)
	}
	switch mark := fenceOf(text); {
	case s.fence == "":
		s.fence = mark
	case strings.HasPrefix(mark, s.fence) && text == mark:
		s.fence = ""
	}
	return block
}

// fenceOf returns the backticks or tildes at the start of a line if they form a fence.
func fenceOf(line string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 && (c == "~" || !strings.Contains(line[n:], c)) {
			return line[:n]
		}
	}
	return ""
}

// isCode reports whether a source is a single code fence, closed or not.
func isCode(source string) bool {
	first, rest, _ := strings.Cut(source, "\n")
	open := fenceOf(first)
	closed := false
	for line := range strings.Lines(rest) {
		text := strings.TrimSpace(line)
		if closed && text != "" {
			return false
		}
		mark := fenceOf(text)
		closed = closed || open != "" && strings.HasPrefix(mark, open) && text == mark
	}
	return open != ""
}

func (s *Splitter) takeBlock() string {
	block := strings.Join(s.lines, "\n")
	s.lines, s.lastBlank = nil, false
	return block
}

// Rest returns the incomplete block.
func (s *Splitter) Rest() string {
	return strings.TrimLeft(strings.Join(append(s.lines[:len(s.lines):len(s.lines)], string(s.partial)), "\n"), "\n")
}

// End returns the remaining blocks, and resets the splitter.
func (s *Splitter) End() (blocks []string) {
	if len(s.partial) > 0 {
		blocks = s.Add("\n")
	}
	if len(s.lines) > 0 {
		blocks = append(blocks, s.takeBlock())
	}
	*s = Splitter{}
	return blocks
}
