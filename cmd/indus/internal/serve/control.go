package serve

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/control"
	"github.com/indusagi/indus/control/approval"
	"github.com/indusagi/indus/control/audit"
	"github.com/indusagi/indus/control/policy"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/mcpconfig"
)

// controls holds the policy, the approvals and the audit of a running gateway.
type controls struct {
	policy  atomic.Pointer[servedPolicy] // nil: there is no policy
	options control.Options
	guard   *control.Control // made of options for the gateway

	endWebhook func() // ends the webhook of approvals
	unreadable bool   // the last reload of the policy failed

	problem atomic.Pointer[error] // why the policy cannot be used as it is now; nil: it can
	changed watch.List            // of the policy, its mode or the problem
}

// setProblem stores the result of the last attempt to read the policy, and notifies the page.
func (k *controls) setProblem(err error) {
	if k.problem.Store(nil); err != nil {
		k.problem.Store(&err)
	}
	k.changed.Notify()
}

// policyProblem returns the reason why the policy cannot be used as it is now, or nil.
func (k *controls) policyProblem() error {
	if err := k.problem.Load(); err != nil {
		return *err
	}
	return nil
}

// servedPolicy is a policy and its mode.
type servedPolicy struct {
	*policy.Engine
	report bool
}

// openControl opens the policy, the approvals and the audit. A file that is missing or broken stops the start.
func (f *serveFlags) openControl(ctx context.Context, c *mcpconfig.Config, s show.Streams) (*controls, error) {
	k := &controls{endWebhook: func() {}}
	k.options.Mask = s.Masked
	if f.shared != nil {
		k.options.Bus = f.shared
	}
	k.options.Policy = func() (*policy.Set, bool) {
		p := k.policy.Load()
		if p == nil {
			return nil, false
		}
		return p.Current(), p.report
	}
	if err := k.openPolicy(f.policyOf(c)); err != nil {
		return nil, command.AsUsage(err)
	}
	if k.policy.Load() != nil {
		k.report(s, "policy")
	}
	if err := k.openApprovals(ctx, f.approvalsOf(c), f.shared, s); err != nil {
		return nil, err
	}
	return k, k.openAudit(f.auditOf(c), f.stdio, s)
}

// auditOf returns the audit that the flag or the configuration names, or nil if there is none.
func (f *serveFlags) auditOf(c *mcpconfig.Config) *mcpconfig.Audit {
	if f.audit == "" {
		return c.Audit
	}
	a := mcpconfig.Audit{Path: f.audit}
	if c.Audit != nil && !c.Audit.Broken { // its bounds
		a = *c.Audit
		a.Path = f.audit
	}
	return &a
}

// openAudit opens the audit. A process over stdio writes a file of its own, because each client starts one.
func (k *controls) openAudit(a *mcpconfig.Audit, stdio bool, s show.Streams) error {
	if a == nil {
		return nil
	}
	if a.Broken {
		return command.Usagef("requests cannot be recorded: correct %q in the configuration", "audit")
	}
	o := &audit.Options{MaxSize: a.MaxSize, MaxAge: a.MaxAge, Keep: a.Keep, Sync: a.Sync, Logger: s.Reports()}
	if a.Continue {
		o.OnFull = audit.Continue
	}
	path := a.Path
	if stdio {
		path = audit.ProcessPath(path)
	}
	log, err := audit.Open(path, o)
	if err != nil {
		return command.AsUsage(err)
	}
	k.options.Audit = log
	return nil
}

// approvalsOf returns how calls wait for a person: as the flag or the configuration has it.
func (f *serveFlags) approvalsOf(c *mcpconfig.Config) mcpconfig.CallApprovals {
	var a mcpconfig.CallApprovals
	if c.Approvals != nil {
		a = *c.Approvals
	}
	a.Expire = cmp.Or(f.approvalExpire, a.Expire)
	return a
}

// openApprovals opens the approvals of the cluster, or those of the user. Without a state directory, they last as long
// as the process.
func (k *controls) openApprovals(
	ctx context.Context, a mcpconfig.CallApprovals, shared *command.Cluster, s show.Streams,
) error {
	if a.Broken {
		return command.Usagef("calls cannot wait for approval: correct %q in the configuration", "approvals")
	}
	path := command.ApprovalsPath()
	if path == "" && shared == nil {
		dir, err := os.MkdirTemp("", "indus-approvals-")
		if err != nil {
			return err
		}
		path = filepath.Join(dir, "approvals.json")
	}
	book, err := shared.Approvals(ctx, path, approval.Options{Expire: a.Expire})
	if err != nil {
		return err
	}
	k.options.Approvals = book
	if a.Webhook == "" {
		return nil
	}
	s.Learn(a.Secret)
	w, err := approval.NewWebhook(a.Webhook, a.Secret.Reveal(), &approval.WebhookOptions{
		Report: func(err error) { s.Reportf("the webhook of approvals: %v", err) },
	})
	if err != nil {
		return command.AsUsage(err)
	}
	k.endWebhook = inBackground(context.Background(), func(ctx context.Context) { w.Run(ctx, book) })
	return nil
}

// policyOf returns the policy that the flag or the configuration names, or nil if there is none.
func (f *serveFlags) policyOf(c *mcpconfig.Config) *mcpconfig.Policy {
	if f.policy == "" {
		return c.Policy
	}
	p := &mcpconfig.Policy{Path: f.policy}
	if c.Policy != nil {
		p.Report = c.Policy.Report
	}
	return p
}

// openPolicy makes a policy the one that decides. Nil means that everything is permitted.
func (k *controls) openPolicy(p *mcpconfig.Policy) error {
	switch {
	case p == nil:
		k.policy.Store(nil)
		return nil
	case p.Broken:
		return fmt.Errorf("the policy cannot be used: correct %q in the configuration", "policy")
	case p.Path == "":
		return fmt.Errorf("%s:%d: there is \"policyMode\" and no \"policy\"", p.File, p.Line)
	}
	engine, err := policy.Open(p.Path)
	if err != nil {
		return err
	}
	k.policy.Store(&servedPolicy{engine, p.Report})
	return nil
}

// follow applies a policy that the configuration names now. A policy that cannot be used changes nothing.
func (k *controls) follow(before, now *mcpconfig.Policy, g *gateway.Gateway, s show.Streams) error {
	if before.Equal(now) {
		return nil
	}
	err := k.openPolicy(now)
	k.setProblem(err)
	if err != nil {
		return err
	}
	k.report(s, "the policy has changed")
	g.ListsChanged()
	return nil
}

// describe describes the policy that decides.
func (k *controls) describe() string {
	p := k.policy.Load()
	switch {
	case p == nil:
		return "there is none, and everything is permitted"
	case p.report:
		return fmt.Sprintf("%s of %s, for reports only", show.Count(p.Current().Len(), "rule"), p.Path())
	}
	return fmt.Sprintf("%s of %s", show.Count(p.Current().Len(), "rule"), p.Path())
}

// report reports the policy that decides, and the rules that compare URIs which no request has.
func (k *controls) report(s show.Streams, event string) {
	s.Reportf("%s: %s", event, k.describe())
	p := k.policy.Load()
	if p == nil {
		return
	}
	notes := p.Current().Misspelt()
	for _, note := range notes[:min(len(notes), maxPolicyNotes)] {
		s.Reportf("note: %s", note)
	}
	if len(notes) > maxPolicyNotes {
		s.Reportf("note: %d more: indus policy check", len(notes)-maxPolicyNotes)
	}
}

// maxPolicyNotes limits the notes about one version of a policy.
const maxPolicyNotes = 10

// watched returns the files and directories whose changes can change the policy.
func (k *controls) watched() []string {
	if p := k.policy.Load(); p != nil {
		return p.Watched()
	}
	return nil
}

// reload reads the policy again. A broken policy changes nothing.
func (k *controls) reload(g *gateway.Gateway, s show.Streams) {
	p := k.policy.Load()
	if p == nil {
		k.setProblem(nil)
		return
	}
	changed, err := p.Reload()
	k.setProblem(err)
	isMended := k.unreadable && !changed
	if k.unreadable = err != nil; err != nil {
		s.Reportf("%v; the policy that was read before stays in effect", err)
		return
	}
	if isMended {
		s.Reportf("the policy can be read again, and is as before: %s", k.describe())
	}
	if changed {
		k.report(s, "the policy has changed")
		g.ListsChanged()
	}
}

// close ends the webhook and closes the audit.
func (k *controls) close() {
	k.endWebhook()
	if log := k.options.Audit; log != nil {
		_ = log.Close()
	}
}
