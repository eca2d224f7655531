package show

import (
	"io"
	"os"
	"strings"

	chars "github.com/indusagi/indus/internal/text"
	"golang.org/x/term"
)

// Terminal is the file behind a stream, where it is a terminal that can be
// drawn on.
func Terminal(stream any) (*os.File, bool) {
	file, ok := stream.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(file.Fd())) {
		return nil, false
	}
	return file, true
}

// Clean makes text from a server harmless for a terminal: one line, no control
// characters.
func Clean(s string) string {
	return chars.OneLine(s)
}

// CleanLines is clean for text of several lines.
func CleanLines(s string) string { return chars.Lines(s) }

// WriteText writes a server's text: as it is in a pipe, harmless on a terminal.
// It ends with a newline in any case.
func (s Streams) WriteText(text string) error {
	if _, ok := Terminal(s.Out); ok {
		text = CleanLines(text)
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := io.WriteString(s.Out, text)
	return err
}
