package doctor

import (
	"cmp"
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
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
)

const (
	maxStderrLines = 20 // shown lines of stderr
	slowStart      = 5 * time.Second
	tightTenths    = 7 // of a timeout; if a start takes longer, the next one may fail

	// Defaults of config.Timeouts.
	defaultConnect = 30 * time.Second
	defaultList    = 30 * time.Second
	defaultCall    = 60 * time.Second
	defaultTotal   = 10 * time.Minute
)

// server examines one row. If its server may start, it waits until that server settles.
func (d *doctor) server(ctx context.Context, row mcpconfig.Row) (*serverReport, error) {
	r := &serverReport{
		Server: row.Server.ID, State: row.State, Transport: row.Kind, Target: row.Target, File: row.File, Line: row.Line,
		Steps: d.configSteps(row),
	}
	switch {
	case row.State == mcpconfig.Active && row.Server.Single:
		r.Steps = append(r.Steps, noteStep("start", "it runs once in the cluster, and was not started",
			"indus mcp ls"+d.paths+" shows the replica that runs it"))
	case row.State == mcpconfig.Active:
		p := d.probes[row.Server.ID]
		if err := d.await(ctx, p); err != nil {
			return nil, err
		}
		x := newExamination(row, p.snapshot())
		for _, st := range d.mounted.Fleet.Status() {
			if st.Server == row.Server.ID {
				x.status = st
			}
		}
		if x.status.Fault != nil {
			x.failed = x.status.Fault
		}
		for _, f := range d.tokens.Examine(ctx, row.Server, x.failed) {
			x.signIn = append(x.signIn, step{Step: f.Step, OK: f.OK, Detail: f.Detail, Advice: f.Advice})
		}
		r.Steps = append(r.Steps, x.connectSteps()...)
		if x.failed == nil {
			r.Steps = append(r.Steps, d.toolSteps(x)...)
		} else {
			d.failed = cmp.Or(d.failed, x.failed)
			r.Stderr = x.lastStderr
		}
		r.Steps = append(r.Steps, x.timeoutSteps()...)
		for i := range r.Steps {
			r.Steps[i].Detail, r.Steps[i].Advice = row.Server.Mask(r.Steps[i].Detail), row.Server.Mask(r.Steps[i].Advice)
		}
	}
	r.OK = allOK(r.Steps)
	if !r.OK && d.failed == nil {
		d.failed = errors.New("not well")
	}
	return r, nil
}

// configSteps returns the steps on the row itself and on its approval.
func (d *doctor) configSteps(r mcpconfig.Row) []step {
	switch r.State {
	case mcpconfig.Skipped:
		return []step{failedStep("configuration", r.Reason, cmp.Or(r.Hint, "correct the entry"))}
	case mcpconfig.Disabled:
		return []step{noteStep("configuration", "the entry is disabled",
			`remove "disabled", or "enabled": false, if the server is to start`)}
	case mcpconfig.Shadowed:
		return []step{noteStep("configuration", r.Reason, r.Hint)}
	case mcpconfig.Held:
		return []step{noteStep("approval", r.Reason, r.Hint)}
	}
	var odd, hints []string
	for _, n := range d.config.Notes {
		if n.State == "" && n.Row > 0 && n.File == r.File && n.Server == r.Server.ID {
			odd = append(odd, fmt.Sprintf("%s (line %d)", n.Reason, n.Line))
			if n.Hint != "" {
				hints = append(hints, n.Hint)
			}
		}
	}
	first := okStep("configuration", "the entry can be read, and its variables are set")
	if odd != nil {
		first = noteStep("configuration", strings.Join(odd, "; "),
			cmp.Or(strings.Join(slices.Compact(hints), "; "), "correct the entry"))
	}
	approval := "it is a file of the user's own"
	switch {
	case (r.Scope == mcpconfig.Project || r.Project != "") && d.trust:
		approval = "--trust"
	case r.Project != "":
		approval = "it was approved for this project, as it is"
	case r.Scope == mcpconfig.Explicit:
		approval = "the file was named"
	case r.Scope == mcpconfig.Project:
		approval = "it was approved as it is"
	}
	return []step{first, okStep("approval", approval)}
}

// examination holds the facts about a server that was started.
type examination struct {
	mcpconfig.Row
	observations
	command    *lookup // nil if the server is not a process
	lastStderr string
	status     interop.EndpointStatus
	signIn     []step // nil if there is no sign-in, and none is needed
	failed     error  // nil if the server is connected and its tools are listed
}

func newExamination(r mcpconfig.Row, o observations) *examination {
	x := &examination{Row: r, observations: o}
	if t, ok := r.Server.Transport.(config.Stdio); ok {
		x.command = lookupCommand(t)
	}
	if o.stderr != nil {
		lines := strings.Split(strings.TrimSpace(o.stderr()), "\n")
		x.lastStderr = strings.Join(lines[max(0, len(lines)-maxStderrLines):], "\n")
	}
	return x
}

// connectSteps returns all steps up to the handshake, or up to the step that failed.
func (x *examination) connectSteps() []step {
	var steps []step
	if x.command != nil {
		steps = x.processSteps()
	} else {
		steps = x.networkSteps()
	}
	if allOK(steps) {
		steps = append(steps, x.signIn...)
	}
	if x.failed == nil {
		return append(steps, x.handshakeStep())
	}
	if x.status.Era != "" {
		return append(steps, x.handshakeStep(), failedStep("list", x.failureReason(), x.advice()).withDuration(x.listing))
	}
	if allOK(steps) {
		steps = append(steps, failedStep("handshake", x.failureReason(), x.advice()).withDuration(x.longest()))
	}
	return steps
}

// processSteps returns the steps of a server that is a child process.
func (x *examination) processSteps() []step {
	c := x.command
	if c.err != nil {
		return []step{failedStep("command", c.err.Error(), cmp.Or(c.advice(), x.advice()))}
	}
	command := okStep("command", c.path)
	if missing := c.missingInContainer(); missing != nil {
		command.Advice = fmt.Sprintf(
			`the container is to get %s, which the server's environment does not have: give it in "env"`,
			strings.Join(missing, ", "))
	}
	answered := slices.ContainsFunc(x.answers, func(a opening) bool {
		_, refused := errors.AsType[*interop.RPCError](a.err)
		return a.err == nil || refused
	})
	start := okStep("start", fmt.Sprintf("process %d", x.pid))
	switch {
	case x.failed != nil && (x.started == 0 || x.exited() && !answered):
		start = failedStep("start", x.failureReason(), x.advice()).withDuration(x.longest())
	case x.started > 1:
		start.Detail += "; the first one failed when it was asked for its era"
		start.Advice = `write "era": "legacy" into the entry: it is started twice each time otherwise`
	}
	return []step{command, start}
}

// exited reports whether the process of the server ended by itself.
func (x *examination) exited() bool {
	_, status := errors.AsType[*exec.ExitError](x.failed)
	return status || errors.Is(x.failed, io.EOF) || errors.Is(x.failed, syscall.EPIPE)
}

// longest returns the duration of the slowest opening request.
func (x *examination) longest() (took time.Duration) {
	for _, a := range x.answers {
		took = max(took, a.took)
	}
	return took
}

// networkSteps returns the steps of a connection to a URL.
func (x *examination) networkSteps() []step {
	var steps []step
	for _, l := range []struct {
		name string
		connectStep
	}{{"dns", x.dns}, {"tcp", x.tcp}, {"tls", x.tls}} {
		switch {
		case !l.ended:
		case l.err != nil:
			return append(steps, failedStep(l.name, x.failureReason(), x.advice()).withDuration(l.took))
		case l.name == "tcp" && x.proxy != "":
			steps = append(steps, okStep(l.name, l.detail+", the proxy "+x.proxy).withDuration(l.took))
		default:
			steps = append(steps, okStep(l.name, l.detail).withDuration(l.took))
		}
	}
	return steps
}

// handshakeStep returns the step on the negotiated era and version.
func (x *examination) handshakeStep() step {
	detail := fmt.Sprintf("%s, MCP %s", x.status.Era, x.status.Version)
	var discover opening // the last one
	for _, a := range x.answers {
		if a.method == "server/discover" {
			discover = a
		}
	}
	answered := discover.method != ""
	process := x.Kind == config.KindStdio
	if x.status.Era == interop.Legacy && x.Kind != config.KindSSE && (answered || process) {
		waited := 3 * time.Second // until initialize is sent too
		if answered && !process {
			waited = discover.took
		}
		if !answered || errors.Is(discover.err, context.Canceled) || errors.Is(discover.err, context.DeadlineExceeded) {
			detail += "; it is silent when asked for its era, so that each start waits " + show.Duration(waited) +
				" for an answer before it goes on"
		} else {
			detail += "; it does not know server/discover, and was asked to initialize"
		}
	}
	s := okStep("handshake", detail).withDuration(x.status.Took)
	hasStringIDs := func(n string) bool { return strings.HasPrefix(n, "its replies have the id as a string") }
	if odd := slices.IndexFunc(x.noiseLines, hasStringIDs); odd >= 0 {
		s.Detail += "; " + x.noiseLines[odd]
		s.Advice = "indus takes such replies, and other clients wait for ever: update the server, or report this to " +
			"its authors"
	} else if noiseCount := max(x.noiseCount, x.status.Noise); noiseCount > 0 {
		s.Detail += fmt.Sprintf("; %s on stdout that are no messages", show.Count(noiseCount, "line"))
		if len(x.noiseLines) > 0 {
			s.Detail += fmt.Sprintf(", such as %q", x.noiseLines[0])
		}
		s.Advice = "make the server log to stderr: indus reads over such lines, and other clients fail on them"
	} else if process && x.status.Took > slowStart {
		s.Advice = prefetch(x.command.Stdio)
	}
	return s
}

// failureReason returns why a server is not connected, without text that is printed elsewhere.
func (x *examination) failureReason() string {
	reason := strings.TrimPrefix(strings.TrimPrefix(x.failed.Error(), x.Server.ID+": "), "connect: ")
	if x.lastStderr != "" {
		reason, _, _ = strings.Cut(reason, "; its stderr ")
	}
	if i := strings.Index(reason, "the server exited"); i >= 0 && x.exited() {
		reason = reason[i:]
	}
	if status, ok := errors.AsType[*exec.ExitError](x.failed); ok && !strings.Contains(reason, "exited") {
		reason += "; the server exited: " + status.Error()
	}
	return reason
}

// timeoutSteps returns a step on the timeouts if some are configured, or if the start nearly exceeded one.
func (x *examination) timeoutSteps() []step {
	t := x.Server.Timeouts
	connect := cmp.Or(t.Connect, defaultConnect)
	tight := connect > 0 && x.status.Took > connect*tightTenths/10
	if t == (config.Timeouts{}) && !tight {
		return nil
	}
	format := func(d, byDefault time.Duration) string {
		if d < 0 {
			return "none"
		}
		return cmp.Or(d, byDefault).String()
	}
	s := okStep("timeouts", fmt.Sprintf("connect %s, list %s, call %s, in all %s", format(t.Connect, defaultConnect),
		format(t.List, defaultList), format(t.Call, defaultCall), format(t.Total, defaultTotal)))
	switch {
	case t.Connect < 0 || t.List < 0:
		s.Advice = "set a timeout: a server that hangs is waited for for ever (here it was not)"
	case tight:
		s.Advice = fmt.Sprintf("raise the timeout: connecting took %s of %s", show.Duration(x.status.Took), connect)
	}
	return []step{s}
}

const (
	maxReasons = 3    // more are only counted
	heavyTools = 8000 // tokens of one server's tools; above, the report has advice
)

// toolSteps returns all steps on the tools of a server that listed them.
func (d *doctor) toolSteps(x *examination) []step {
	isOwn := func(t toolbox.Descriptor) bool { return t.Server == x.Server.ID }
	own := len(show.Where(d.mounted.Box.Snapshot("").Tools, isOwn))
	var rejected, rules []string
	denied := 0
	for _, q := range d.mounted.Fleet.Quarantined() {
		switch {
		case q.Server != x.Server.ID, q.Mended: // lint reports mended tools
		case q.Denied:
			denied++
		case q.Rule != "":
			rules = append(rules, q.Rule+": "+q.Reason)
		case q.Tool != "":
			rejected = append(rejected, fmt.Sprintf("%q: %s", q.Tool, strings.TrimPrefix(q.Reason, "schema: ")))
		default:
			rejected = append(rejected, strings.TrimPrefix(q.Reason, "schema: "))
		}
	}
	list := okStep("list", show.Count(own, "tool")).withDuration(x.listing)
	if x.pages > 1 {
		list.Detail += fmt.Sprintf(" on %d pages", x.pages)
	}
	if denied > 0 {
		list.Detail += fmt.Sprintf(", and %d that \"tools\" leaves out", denied)
	}
	switch tokens := x.bytes / text.BytesPerToken; {
	case own == 0 && denied > 0:
		list.Advice = `all of them are left out: change "allow" and "deny" in "tools"`
	case own == 0 && len(rejected) == 0:
		list.Advice = "it has no tools for indus to bring in: does it need an argument, a key or a permission for them?"
	case tokens > heavyTools:
		list.Advice = fmt.Sprintf(
			`a model reads about %d tokens of them per request: select the needed tools with "tools": {"allow": […]}`, tokens)
	}
	steps := []step{list}
	if rules != nil {
		steps = append(steps,
			noteStep("rules", summarize(rules),
				`correct them in "tools": names are the server's own, as indus mcp tools --json has them`))
	}
	switch {
	case rejected != nil:
		steps = append(steps, failedStep("schemas", summarize(rejected),
			"see them all with indus mcp lint "+x.Server.ID+", and report them to the server's authors"))
	case own > 0:
		steps = append(steps, okStep("schemas", "every provider takes them as they are mounted"))
	}
	return steps
}

// summarize joins the first sentences and counts the rest.
func summarize(all []string) string {
	shown := strings.Join(all[:min(maxReasons, len(all))], "; ")
	if more := len(all) - maxReasons; more > 0 {
		shown += fmt.Sprintf("; and %d more", more)
	}
	return shown
}

// sharedSteps returns the step on the tools of all servers.
func (d *doctor) sharedSteps() []step {
	all := d.mounted.Box.Descriptors()
	size := 0
	for _, t := range all {
		size += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	if len(all) == 0 || !d.all {
		return nil
	}
	s := okStep("tools",
		fmt.Sprintf("%s for a model, of about %d tokens", show.Count(len(all), "tool"), size/text.BytesPerToken))
	if found := schema.CheckCount(len(all), schema.Universal); found != nil {
		s.Detail += "; " + found[0].Message
		s.Advice = `choose with "tools": {"allow": […]}, or disable servers that are not needed`
	} else if few := schema.Universal.Rules().Tool.FewTools; few > 0 && len(all) > 2*few {
		s.Advice = fmt.Sprintf(`models work best with about %d tools: select the needed tools with "tools": {"allow": […]}`,
			few)
	}
	return []step{s}
}
