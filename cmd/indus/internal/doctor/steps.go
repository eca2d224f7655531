package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/mcpconfig"
)

// patient looks at one row, and waits for its server where it has one that may start.
func (d *doctor) patient(ctx context.Context, r mcpconfig.Row) (*patient, error) {
	p := &patient{
		Server: r.Server.ID, State: r.State, Transport: r.Kind, Target: r.Target, File: r.File, Line: r.Line,
		Steps: d.configured(r),
	}
	if r.State == mcpconfig.Active {
		w := d.probes[r.Server.ID]
		if err := d.await(ctx, w); err != nil {
			return nil, err
		}
		x := &exam{probe: w, saw: w.record(), status: d.status(r.Server.ID)}
		p.Steps = append(p.Steps, x.connected()...)
		if x.failed == nil {
			p.Steps = append(p.Steps, d.listed(x)...)
		} else if d.refused == nil {
			d.refused = x.failed
		}
		p.Steps = append(p.Steps, d.duplicates(r, x.failed == nil)...)
		p.Steps = append(p.Steps, timeouts(r, x.status)...)
		if x.failed != nil {
			p.Stderr = lastLines(x.saw.stderr)
		}
		for i := range p.Steps {
			p.Steps[i].Detail, p.Steps[i].Advice = r.Server.Mask(p.Steps[i].Detail), r.Server.Mask(p.Steps[i].Advice)
		}
	}
	p.OK = len(unwell(p.Server, p.Steps)) == 0
	if !p.OK && d.refused == nil {
		d.refused = errors.New("not well")
	}
	return p, nil
}

// maxStderrLines is how much of a server's stderr is shown.
const maxStderrLines = 20

func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-maxStderrLines):], "\n")
}

// configured is what the row itself says, and who approves of it.
func (d *doctor) configured(r mcpconfig.Row) []step {
	var odd, hints []string
	for _, n := range d.config.Notes {
		if n.State == "" && n.Row > 0 && n.File == r.File && n.Server == r.Server.ID {
			odd = append(odd, fmt.Sprintf("%s (line %d)", n.Reason, n.Line))
			if n.Hint != "" {
				hints = append(hints, n.Hint)
			}
		}
	}
	first := good("configuration", "the row can be read, and its variables are set")
	if odd != nil {
		first = note("configuration", strings.Join(odd, "; "), strings.Join(slices.Compact(hints), "; "))
		if first.Advice == "" {
			first.Advice = "mend the row"
		}
	}
	switch r.State {
	case mcpconfig.Skipped:
		return []step{bad("configuration", r.Reason, orElse(r.Hint, "mend the row"))}
	case mcpconfig.Disabled:
		return []step{note("configuration", "the row is disabled", `remove "disabled", or "enabled": false, if the server is to start`)}
	case mcpconfig.Shadowed:
		return []step{note("configuration", r.Reason, r.Hint)}
	case mcpconfig.Held:
		return []step{note("approval", r.Reason, r.Hint)}
	}
	approval := "it is a file of the user's own"
	switch {
	case r.Scope == mcpconfig.Explicit:
		approval = "the file was named"
	case r.Scope == mcpconfig.Project && d.trust:
		approval = "--trust"
	case r.Scope == mcpconfig.Project:
		approval = "it was approved as it stands"
	}
	return []step{first, good("approval", approval)}
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// exam is one server that was to connect, and what was seen of it.
type exam struct {
	*probe
	saw    record
	status interop.EndpointStatus
	failed error // why it did not
}

// connected is all steps up to the handshake, or to the one that failed.
func (x *exam) connected() []step {
	if x.status.Fault != nil {
		x.failed = x.status.Fault
	}
	var steps []step
	if _, ok := x.row.Server.Transport.(interop.Stdio); ok {
		steps = x.process()
	} else {
		steps = x.network()
	}
	if x.failed != nil && x.status.Era == "" {
		if len(unwell("", steps)) == 0 {
			steps = append(steps, bad("handshake", x.says(), x.advice()).lasting(x.longest()))
		}
		return steps
	}
	steps = append(steps, x.handshake())
	if x.failed != nil {
		steps = append(steps, bad("list", x.says(), x.advice()).lasting(x.saw.listing))
	}
	return steps
}

// process is the steps of a server that is a child process.
func (x *exam) process() []step {
	t := x.row.Server.Transport.(interop.Stdio)
	c := lookUp(t)
	steps := []step{c.step()}
	switch {
	case c.err != nil:
		return steps
	case x.saw.started == 0 && x.failed != nil:
		return append(steps, bad("start", x.says(), x.advice()))
	case x.exited() && !x.spoke():
		return append(steps, bad("start", x.says(), x.advice()).lasting(x.longest()))
	}
	start := fmt.Sprintf("process %d", x.saw.pid)
	if x.saw.started > 1 {
		return append(steps, note("start", start+"; the first one failed when it was asked for its era",
			`write "era": "legacy" into the row: it is started twice each time otherwise`))
	}
	return append(steps, good("start", start))
}

// exited reports whether the server's process has ended by itself.
func (x *exam) exited() bool {
	var status *exec.ExitError
	return errors.As(x.failed, &status) || errors.Is(x.failed, io.EOF) || errors.Is(x.failed, syscall.EPIPE)
}

// spoke reports whether the server has answered anything.
func (x *exam) spoke() bool {
	return slices.ContainsFunc(x.saw.answers, func(a opening) bool {
		var rpc *interop.RPCError
		return a.err == nil || errors.As(a.err, &rpc)
	})
}

// longest is how long the last question was waited for.
func (x *exam) longest() (took time.Duration) {
	for _, a := range x.saw.answers {
		took = max(took, a.took)
	}
	return took
}

// network is the steps to a server at a URL.
func (x *exam) network() []step {
	var steps []step
	for _, l := range []struct {
		name string
		leg  *leg
	}{{"dns", x.saw.net.dns}, {"tcp", x.saw.net.tcp}, {"tls", x.saw.net.tls}} {
		if l.leg == nil {
			continue
		}
		detail := l.leg.detail
		if x.saw.net.proxy != "" && l.name == "tcp" {
			detail += ", the proxy " + x.saw.net.proxy
		}
		if l.leg.err != nil {
			return append(steps, bad(l.name, x.says(), x.advice()).lasting(l.leg.took))
		}
		steps = append(steps, good(l.name, detail).lasting(l.leg.took))
	}
	return steps
}

// handshake is how a server that is ready was agreed with.
func (x *exam) handshake() step {
	says := fmt.Sprintf("%s, MCP %s", x.status.Era, x.status.Version)
	discover, asked := x.saw.answer("server/discover")
	if x.status.Era == interop.Legacy {
		switch {
		case x.row.Kind == interop.KindSSE:
		case x.row.Kind != interop.KindStdio && !asked:
		case x.row.Kind == interop.KindStdio && (!asked || silent(discover.err)):
			says += "; it is silent when asked for its era, so that each start waits 3 s for an answer before it goes on"
		case silent(discover.err):
			says += "; it is silent when asked for its era, so that each start waits " + show.Duration(discover.took) + " for an answer before it goes on"
		default:
			says += "; it does not know server/discover, and was asked to initialize"
		}
	}
	s := good("handshake", says)
	if noises := max(x.saw.noises, x.status.Noise); noises > 0 {
		s.Detail += fmt.Sprintf("; %s on stdout that are no messages", show.Count(noises, "line"))
		if len(x.saw.noise) > 0 {
			s.Detail += fmt.Sprintf(", such as %q", x.saw.noise[0])
		}
		s.Advice = "make the server log to stderr: indus reads over such lines, and other clients fail on them"
	}
	if d := x.status.Took; d > slowStart && x.row.Kind == interop.KindStdio {
		if why := slowRunner(x.row.Server.Transport.(interop.Stdio)); why != "" && s.Advice == "" {
			s.Advice = why
		}
	}
	return s.lasting(x.status.Took)
}

// slowStart is what a person notices.
const slowStart = 5 * time.Second

// silent reports a question that was not answered at all.
func silent(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// says is why a server is not connected, without what stands elsewhere.
func (x *exam) says() string {
	var status *exec.ExitError
	text := strings.TrimPrefix(x.failed.Error(), x.row.Server.ID+": ")
	text = strings.TrimPrefix(text, "connect: ")
	if x.saw.stderr != "" {
		text, _, _ = strings.Cut(text, "; its stderr ")
	}
	if i := strings.Index(text, "the server exited"); i >= 0 && x.exited() {
		text = text[i:]
	}
	if errors.As(x.failed, &status) && !strings.Contains(text, "exited") {
		text += "; the server exited: " + status.Error()
	}
	return text
}

// timeouts is how long each step may take, where that is worth a word.
func timeouts(r mcpconfig.Row, st interop.EndpointStatus) []step {
	t := r.Server.Timeouts
	connect := t.Connect
	if connect == 0 {
		connect = defaultConnectWait
	}
	tight := connect > 0 && st.Took > connect*tightTenths/10
	if t == (interop.Timeouts{}) && !tight {
		return nil
	}
	says := func(d, byDefault time.Duration) string {
		switch {
		case d < 0:
			return "none"
		case d == 0:
			return byDefault.String()
		}
		return d.String()
	}
	s := good("timeouts", fmt.Sprintf("connect %s, list %s, call %s, in all %s", says(t.Connect, defaultConnectWait),
		says(t.List, 30*time.Second), says(t.Call, 60*time.Second), says(t.Total, 10*time.Minute)))
	switch {
	case t.Connect < 0 || t.List < 0:
		s.Advice = "set a timeout: a server that hangs is waited for for ever (here it was not)"
	case tight:
		s.Advice = fmt.Sprintf("raise the timeout: connecting took %s of %s", show.Duration(st.Took), connect)
	}
	return []step{s}
}

const (
	defaultConnectWait = 30 * time.Second // of interop.Timeouts
	tightTenths        = 7                // of a timeout: beyond them the next start may fail
)
