package markdown

import "strings"

// Splitter cuts a text that arrives in pieces into blocks: a paragraph, a heading, a list item, a table, a fence of code.
// The zero Splitter is ready.
type Splitter struct {
	lines []string // complete ones of the block that is arriving
	last  string   // the line that is arriving
	fence string   // the fence that is open
	blank bool     // the last complete line is
}

// Add takes a piece, and gives the blocks that it completes.
func (s *Splitter) Add(piece string) (blocks []string) {
	for {
		line, rest, complete := strings.Cut(piece, "\n")
		s.last += line
		if !complete {
			return blocks
		}
		if block := s.line(); block != "" {
			blocks = append(blocks, block)
		}
		piece = rest
	}
}

// line takes the last line as complete, and gives the block that was before it if it begins another one.
func (s *Splitter) line() (block string) {
	line := strings.TrimSuffix(s.last, "\r")
	s.last = ""
	if s.fence == "" && s.blank && line != "" && line[0] != ' ' && line[0] != '\t' {
		block = s.take()
	}
	text := strings.TrimSpace(line)
	s.blank = text == ""
	if !s.blank || len(s.lines) > 0 {
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

// fenceOf is the backticks or tildes that a line begins with, if they are a fence.
func fenceOf(line string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 && (c == "~" || !strings.Contains(line[n:], c)) {
			return line[:n]
		}
	}
	return ""
}

// isCode reports a source that is one fence of code, closed or not.
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

func (s *Splitter) take() string {
	block := strings.Join(s.lines, "\n")
	s.lines, s.blank = nil, false
	return block
}

// Rest is what has arrived of the block that is not complete.
func (s *Splitter) Rest() string {
	return strings.TrimLeft(strings.Join(append(s.lines[:len(s.lines):len(s.lines)], s.last), "\n"), "\n")
}

// End gives what there is left, and makes the splitter as new.
func (s *Splitter) End() (blocks []string) {
	if s.last != "" {
		blocks = s.Add("\n")
	}
	if len(s.lines) > 0 {
		blocks = append(blocks, s.take())
	}
	*s = Splitter{}
	return blocks
}
