package describe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/control/audit"
)

// AuditQuery selects records in the words of a person. "" selects all.
type AuditQuery struct {
	Principal, Tool, Server, Client, Approval, Trace string
	// View is a server, @NAME, or * for the view of everything.
	View string
	// Outcome is one of [Outcomes].
	Outcome string
	// Since and Until are times, or durations before now: see [command.TimesHelp].
	Since, Until string
}

// Outcomes lists the outcomes of requests.
var Outcomes = []audit.Outcome{audit.Allowed, audit.Denied, audit.Deferred, audit.Error}

// Filter returns the filter for records.
func (q *AuditQuery) Filter(now time.Time) (f audit.Filter, err error) {
	f = audit.Filter{
		Principal: q.Principal, Tool: q.Tool, Server: q.Server, Client: q.Client, Approval: q.Approval, Trace: q.Trace,
		Outcome: audit.Outcome(q.Outcome),
	}
	if q.Outcome != "" && !slices.Contains(Outcomes, f.Outcome) {
		return f, fmt.Errorf("the outcome %q is unknown: write allowed, denied, deferred or error", q.Outcome)
	}
	if q.View != "" {
		view := strings.TrimPrefix(q.View, "*")
		f.View = &view
	}
	if q.Since != "" {
		if f.Since, err = command.ParseTime(q.Since, now); err != nil {
			return f, err
		}
	}
	if q.Until != "" {
		if f.Until, err = command.ParseTime(q.Until, now); err != nil {
			return f, err
		}
		f.Until = command.EndOfSecond(f.Until)
	}
	return f, nil
}

// Request describes the request: its method and its target.
func Request(r *audit.Record) string {
	return strings.TrimSuffix(cmp.Or(r.Method, r.Type)+" "+Target(r), " ")
}

// Target returns the tool, prompt or resource with its server.
func Target(r *audit.Record) string {
	target := cmp.Or(r.Tool, r.Target)
	if r.Server == "" || target == "" {
		return r.Server + target
	}
	return r.Server + "/" + target
}

// Details returns the rules, the approval and the reason.
func Details(r *audit.Record) (out []string) {
	if r.Outcome != audit.Allowed && len(r.Policies) > 0 {
		out = append(out, show.List(r.Policies, show.MaxNamed, "rules"))
	}
	if r.Approval != "" {
		text := "approval " + r.Approval
		if r.Approver != "" {
			text += " of " + r.Approver
		}
		out = append(out, text)
	}
	if r.Lost > 0 {
		out = append(out, show.Count(int(min(r.Lost, 1<<53)), "record"))
	}
	if reason := strings.Trim(r.ErrorKind+": "+r.Reason, ": "); reason != "" {
		out = append(out, reason)
	}
	return out
}

// Duration is like show.Duration, and shows microseconds below a millisecond.
func Duration(d time.Duration) string {
	if d < time.Millisecond {
		return d.Round(time.Microsecond).String()
	}
	return show.Duration(d)
}

// Verification is the result of a check of an audit log.
type Verification struct {
	File string `json:"file"`
	audit.Report
	Whole bool `json:"whole"`
	// Processes has the logs that processes write beside the log. If one is damaged, Whole is false.
	Processes []*Verification `json:"processes,omitempty"`
}

// Add adds the result for the log of a process beside the log.
func (v *Verification) Add(process *Verification) {
	v.Processes = append(v.Processes, process)
	v.Whole = v.Whole && process.Whole
}

// NewVerification returns the result of a check of the log at a path.
func NewVerification(path string, r *audit.Report) *Verification {
	v := &Verification{File: path, Report: *r, Whole: r.Intact()}
	v.Damage = append([]audit.Damage{}, v.Damage...)
	return v
}

// Page returns the result for a person.
func (v *Verification) Page() *show.Page {
	p := &show.Page{}
	p.Printf("%s: %s in %s, %s\n", v.File, show.Count(v.Records, "record"), show.Count(v.Files, "file"),
		command.WholeText(v.Intact()))
	if v.Records > 0 {
		p.Printf("head %d:%s\n", v.Head.Seq, v.Head.Hash)
	}
	if v.First > 1 && v.Intact() {
		p.Printf("begins at record %d: earlier files were removed, as \"keep\" demands\n", v.First)
	}
	if v.Lost > 0 {
		p.Printf("%s could not be written, for example because the disk was full\n",
			show.Count(int(min(v.Lost, 1<<53)), "record"))
	}
	command.AddDamage(p, v.Damage)
	for _, process := range v.Processes {
		p.WriteString(process.Page().String())
	}
	return p
}
