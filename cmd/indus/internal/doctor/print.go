package doctor

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/mcpconfig"
)

// patient is one row of the configuration with all that was looked at, as --json
// prints it.
type patient struct {
	Server    string                `json:"server"`
	State     mcpconfig.State       `json:"state"`
	Transport interop.TransportKind `json:"transport,omitempty"`
	Target    string                `json:"target,omitempty"`
	File      string                `json:"file"`
	Line      int                   `json:"line"`
	OK        bool                  `json:"ok"`
	Stderr    string                `json:"stderr,omitempty"`
	Steps     []step                `json:"steps"`
}

// jsonExamination prints all at once.
type jsonExamination struct {
	show.Streams
	report struct {
		OK       bool       `json:"ok"`
		General  []step     `json:"general"`
		Servers  []*patient `json:"servers"`
		Together []step     `json:"together"`
	}
}

var _ examination = (*jsonExamination)(nil)

func (x *jsonExamination) general(steps []step) error {
	x.report.General, x.report.Servers = steps, []*patient{}
	return nil
}

func (x *jsonExamination) server(p *patient) error {
	x.report.Servers = append(x.report.Servers, p)
	return nil
}

func (x *jsonExamination) together(steps []step) error {
	x.report.Together = append([]step{}, steps...)
	return nil
}

func (x *jsonExamination) end(ok bool) error {
	x.report.OK = ok
	return x.WriteIndented(x.report)
}

// textExamination prints each part as it comes.
type textExamination struct {
	out             io.Writer
	well, sick, not int // not: those that may not start, and are none the worse for it
}

var _ examination = (*textExamination)(nil)

func (x *textExamination) general(steps []step) error { return x.part("general", steps, "") }

func (x *textExamination) server(p *patient) error {
	switch {
	case !p.OK:
		x.sick++
	case p.State == mcpconfig.Active:
		x.well++
	default:
		x.not++
	}
	title := fmt.Sprintf("%s  %s:%d", show.Clean(p.Server), show.Clean(p.File), p.Line)
	if p.Target != "" {
		title += fmt.Sprintf("  %s: %s", p.Transport, show.Clean(p.Target))
	}
	return x.part("\n"+title, p.Steps, p.Stderr)
}

func (x *textExamination) together(steps []step) error {
	if len(steps) == 0 {
		return nil
	}
	return x.part("\ntogether", steps, "")
}

func (x *textExamination) end(bool) error {
	all := x.well + x.sick + x.not
	if all == 0 {
		return nil
	}
	var says []string
	for _, part := range []struct {
		n    int
		what string
	}{{x.well, "well"}, {x.not, "not started"}, {x.sick, "not well"}} {
		if part.n > 0 {
			says = append(says, are(part.n, part.what))
		}
	}
	_, err := fmt.Fprintf(x.out, "\n%s: %s\n", show.Count(all, "server"), strings.Join(says, ", "))
	return err
}

func are(n int, what string) string {
	if n == 1 {
		return "1 is " + what
	}
	return fmt.Sprintf("%d are %s", n, what)
}

// maxStderrLine is how many characters of a line that a server said are shown.
const maxStderrLine = 500

// part prints a title and steps. What a server said on stderr stands below the
// first step that failed.
func (x *textExamination) part(title string, steps []step, stderr string) error {
	var b strings.Builder
	b.WriteString(title + "\n")
	wide := 0
	for _, s := range steps {
		wide = max(wide, utf8.RuneCountInString(s.Step))
	}
	for _, s := range steps {
		mark := "ok"
		switch {
		case !s.OK:
			mark = "FAIL"
		case s.Advice != "":
			mark = "note"
		}
		took := ""
		if s.Millis > 0 {
			took = fmt.Sprintf(" (%s)", show.Duration(time.Duration(s.Millis)*time.Millisecond))
		}
		fmt.Fprintf(&b, "  %-4s  %-*s  %s%s\n", mark, wide, s.Step, show.Clean(s.Detail), took)
		if s.Advice != "" {
			fmt.Fprintf(&b, "        try: %s\n", show.Clean(s.Advice))
		}
		if !s.OK && stderr != "" {
			b.WriteString("        its stderr ends:\n")
			for line := range strings.Lines(show.CleanLines(stderr)) {
				b.WriteString("          | " + show.Cut(strings.TrimRight(line, "\n"), maxStderrLine) + "\n")
			}
			stderr = ""
		}
	}
	_, err := io.WriteString(x.out, b.String())
	return err
}
