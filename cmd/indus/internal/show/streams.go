package show

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/secret"
	chars "github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/wire"
)

// Streams holds the input and output of a command, and the state of its run.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	*state
}

// state is shared by all copies of one Streams.
type state struct {
	masker
	Log       logFlag
	WroteJSON bool     // JSON was written to stdout
	HelpErr   error    // error of printing a help text, which cobra does not return
	Commands  []string // commands of indus, and flags, which stay on the line of their indus
}

// New returns the streams of one run.
func New(in io.Reader, out, err io.Writer) Streams {
	return Streams{
		in, out, err, &state{Log: logFlag{level: logOff}, masker: masker{learned: secret.New().LimitLearned(maxLearned)}},
	}
}

// Reportf writes a message for the person to stderr. Its arguments pass through [Clean]. On a terminal it is wrapped.
func (s Streams) Reportf(format string, args ...any) {
	fmt.Fprintln(s.Err, s.fitted(fmt.Sprintf("indus: "+format, cleanArgs(args)...), s.Err))
}

// Lines returns a channel of the lines of stdin, and closes it after the last. A blocked read ends with the process.
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

// noAnswer is the error if the input ends, for example by Ctrl-D, before an answer. errors.Is takes it for io.EOF.
type noAnswer struct{}

func (noAnswer) Error() string        { return "no answer was given" }
func (noAnswer) Is(target error) bool { return target == io.EOF }

// Ask writes a question to stderr, and returns the next of lines, which come from [Streams.Lines]. At the end of the
// input it returns an error that is io.EOF.
func (s Streams) Ask(ctx context.Context, question string, lines <-chan string) (string, error) {
	fmt.Fprint(s.Err, s.fitted(question, s.Err))
	select {
	case <-ctx.Done():
		fmt.Fprintln(s.Err)
		return "", ctx.Err()
	case answer, ok := <-lines:
		if !ok {
			fmt.Fprintln(s.Err)
			return "", noAnswer{}
		}
		return strings.TrimSpace(answer), nil
	}
}

// Confirm is [Streams.Ask], and reports whether the answer is a yes.
func (s Streams) Confirm(ctx context.Context, question string, lines <-chan string) (bool, error) {
	answer, err := s.Ask(ctx, question+" [y/N] ", lines)
	return strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes"), err
}

// Page collects text for stdout.
type Page struct{ strings.Builder }

// Printf adds text to the page. Its arguments pass through [Clean].
func (p *Page) Printf(format string, args ...any) { fmt.Fprintf(p, format, cleanArgs(args)...) }

// Print writes a page to stdout. On a terminal it is wrapped.
func (s Streams) Print(p *Page) error { return s.WriteWrapped(p.String()) }

// WriteWrapped writes text without control characters to stdout. On a terminal it is wrapped.
func (s Streams) WriteWrapped(text string) error {
	_, err := io.WriteString(s.Out, s.fitted(text, s.Out))
	return err
}

// PrintOr writes v as indented JSON if asJSON is set, and otherwise the page.
func (s Streams) PrintOr(asJSON bool, v any, p *Page) error {
	if asJSON {
		return s.WriteIndented(v)
	}
	return s.Print(p)
}

// cleanArgs wraps arguments so that their formatted text passes through [Clean].
func cleanArgs(args []any) []any {
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

// EscapeHarmful returns valid JSON with harmful characters as \u escapes. In valid JSON they occur only in strings.
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

// WriteIndented writes v as indented JSON. In a json.RawMessage, keys, order and numbers stay as they are.
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

// CompactJSON returns JSON on one line. If raw is not JSON, it is returned unchanged.
func CompactJSON(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// PrintLines prints a JSON document for each value, each on a line of its own.
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

// maxIndented bounds the depth of JSON on several lines: each line of a deeper document would begin with its depth.
const maxIndented = 200

// IndentJSON returns JSON on several lines, otherwise unchanged. If raw is not JSON, it is returned as it is. A deep
// document stays on one line.
func IndentJSON(raw json.RawMessage) string {
	var b bytes.Buffer
	if _, depth := wire.Finite(raw); depth > maxIndented {
		return CompactJSON(raw)
	}
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}
