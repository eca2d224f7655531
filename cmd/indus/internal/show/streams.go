package show

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/secret"
	chars "github.com/indusagi/indus/internal/text"
)

// Streams is where a command reads and writes, and what its run comes to.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	*state
}

// state is what all parts of one run share.
type state struct {
	masked
	Log       logFlag
	WroteJSON bool  // on stdout
	HelpErr   error // of a help text, for which cobra has no error
}

// New is the streams of one run.
func New(in io.Reader, out, err io.Writer) Streams {
	return Streams{in, out, err, &state{Log: logFlag{level: logOff}, masked: masked{learned: secret.New().Keeping(maxLearned)}}}
}

// Reportf writes a line for the person. Its arguments are cleaned: see [Clean].
func (s Streams) Reportf(format string, args ...any) {
	fmt.Fprintf(s.Err, "indus: "+format+"\n", cleaned(args)...)
}

// Lines are those of stdin. A read that hangs is left behind at the process's end.
func (s Streams) Lines() <-chan string {
	out := make(chan string)
	go func() {
		defer close(out)
		for scan := bufio.NewScanner(s.In); scan.Scan(); {
			out <- scan.Text()
		}
	}()
	return out
}

// Page is text for stdout.
type Page struct{ strings.Builder }

// Printf adds to the page. Its arguments are cleaned: see [Clean].
func (p *Page) Printf(format string, args ...any) { fmt.Fprintf(p, format, cleaned(args)...) }

// Print writes a page to stdout.
func (s Streams) Print(p *Page) error {
	_, err := io.WriteString(s.Out, p.String())
	return err
}

// cleaned is arguments of which none can drive a terminal.
func cleaned(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		out[i] = cleanArg{a}
	}
	return out
}

type cleanArg struct{ value any }

// Format implements [fmt.Formatter].
func (a cleanArg) Format(f fmt.State, verb rune) {
	_, _ = io.WriteString(f, Clean(fmt.Sprintf(fmt.FormatString(f, verb), a.value)))
}

// WriteJSON writes one JSON document. On a terminal, characters that move the cursor are written as \u escapes.
func (s Streams) WriteJSON(raw json.RawMessage) error {
	if _, ok := Terminal(s.Out); ok {
		raw = EscapeHarmful(raw)
	}
	s.WroteJSON = true
	_, err := fmt.Fprintf(s.Out, "%s\n", bytes.TrimRight(raw, "\n"))
	return err
}

// EscapeHarmful writes the harmful characters of valid JSON, which are in strings alone, as escapes.
func EscapeHarmful(raw []byte) []byte {
	if !bytes.ContainsFunc(raw, func(r rune) bool { return r >= 0x7f && chars.Harmful(r) }) {
		return raw
	}
	var b []byte
	for len(raw) > 0 {
		r, n := utf8.DecodeRune(raw)
		if r >= 0x7f && chars.Harmful(r) {
			b = fmt.Appendf(b, `\u%04x`, r)
		} else {
			b = append(b, raw[:n]...)
		}
		raw = raw[n:]
	}
	return b
}

// WriteIndented writes v as indented JSON. Raw members keep their keys, their order and their numbers.
func (s Streams) WriteIndented(v any) error { return s.encode(v, "  ") }

func (s Streams) encode(v any, indent string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return err
	}
	return s.WriteJSON(b.Bytes())
}

// CompactJSON is JSON on one line, or what is no JSON as it is.
func CompactJSON(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// PrintLines prints a JSON document a line.
func PrintLines[T any](s Streams, all []T, as func(T) any) error {
	for _, one := range all {
		if err := PrintLine(s, as(one)); err != nil {
			return err
		}
	}
	return nil
}

// PrintLine prints a JSON document on one line.
func PrintLine(s Streams, v any) error { return s.encode(v, "") }

// IndentJSON is JSON on several lines, as its owner wrote it otherwise.
func IndentJSON(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}
