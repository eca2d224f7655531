package show

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/indusagi/indus/internal/secret"
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
	return Streams{in, out, err, &state{masked: masked{learned: secret.New().Keeping(maxLearned)}}}
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
