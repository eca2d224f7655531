package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig"
)

// fullReport is the whole result of doctor in the output of --json.
type fullReport struct {
	OK       bool            `json:"ok"`
	General  []step          `json:"general"`
	Servers  []*serverReport `json:"servers"`
	Together []step          `json:"together"`
}

// serverReport is the result for one server.
type serverReport struct {
	Server    string               `json:"server"`
	State     mcpconfig.State      `json:"state"`
	Transport config.TransportKind `json:"transport,omitempty"`
	Target    string               `json:"target,omitempty"`
	File      string               `json:"file"`
	Line      int                  `json:"line"`
	OK        bool                 `json:"ok"`
	Stderr    string               `json:"stderr,omitempty"`
	Steps     []step               `json:"steps"`
}

// step is the result of one check.
type step struct {
	Step   string `json:"step"`
	OK     bool   `json:"ok"`
	Millis int64  `json:"ms"`
	Detail string `json:"detail"`
	Advice string `json:"advice,omitempty"`
}

func okStep(name, detail string) step { return step{Step: name, OK: true, Detail: detail} }

func noteStep(name, detail, advice string) step {
	return step{Step: name, OK: true, Detail: detail, Advice: advice}
}

func failedStep(name, detail, advice string) step {
	return step{Step: name, Detail: detail, Advice: advice}
}

// withDuration returns the step with its duration.
func (s step) withDuration(took time.Duration) step {
	s.Millis = took.Milliseconds()
	return s
}

func allOK(steps []step) bool {
	return !slices.ContainsFunc(steps, func(s step) bool { return !s.OK })
}

// failedParts returns the names of the parts in which a step failed.
func (r *fullReport) failedParts() []string {
	var names []string
	if !allOK(r.General) {
		names = append(names, "general")
	}
	for _, s := range show.Where(r.Servers, func(s *serverReport) bool { return !s.OK }) {
		names = append(names, s.Server)
	}
	if !allOK(r.Together) {
		names = append(names, "together")
	}
	return names
}

// printer prints parts of a report for a person.
type printer struct{ show.Streams }

func (out printer) server(r *serverReport) error {
	title := fmt.Sprintf("\n%s  %s:%d", show.Clean(r.Server), show.Clean(r.File), r.Line)
	if r.Target != "" {
		title += fmt.Sprintf("  %s: %s", r.Transport, show.Clean(r.Target))
	}
	return out.part(title, r.Steps, r.Stderr)
}

// maxStderrLine is the number of characters that are shown of a line of stderr.
const maxStderrLine = 500

// part prints a title and steps. The stderr of the server goes below the first failed step.
func (out printer) part(title string, steps []step, stderr string) error {
	var b strings.Builder
	b.WriteString(title + "\n")
	width := 0
	for _, s := range steps {
		width = max(width, utf8.RuneCountInString(s.Step))
	}
	for _, s := range steps {
		status, took := "ok", ""
		switch {
		case !s.OK:
			status = "FAIL"
		case s.Advice != "":
			status = "note"
		}
		if s.Millis > 0 {
			took = fmt.Sprintf(" (%s)", show.Duration(time.Duration(s.Millis)*time.Millisecond))
		}
		fmt.Fprintf(&b, "  %-4s  %-*s  %s%s\n", status, width, s.Step, show.Clean(s.Detail), took)
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
	return out.WriteWrapped(b.String())
}

// summary prints how many servers are well, not started and not well.
func (out printer) summary(servers []*serverReport) error {
	counts := map[string]int{}
	for _, s := range servers {
		switch {
		case !s.OK:
			counts["not well"]++
		case s.State == mcpconfig.Active:
			counts["well"]++
		default:
			counts["not started"]++
		}
	}
	var parts []string
	for _, what := range []string{"well", "not started", "not well"} {
		switch n := counts[what]; n {
		case 0:
		case 1:
			parts = append(parts, "1 is "+what)
		default:
			parts = append(parts, fmt.Sprintf("%d are %s", n, what))
		}
	}
	if parts == nil {
		return nil
	}
	return out.WriteWrapped(fmt.Sprintf("\n%s: %s\n", show.Count(len(servers), "server"), strings.Join(parts, ", ")))
}
