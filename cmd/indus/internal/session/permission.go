package session

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/toolbox"
)

// asker asks a person for permission.
type asker func(context.Context, agent.Ask) (agent.Verdict, error)

// permissions are what stands before each call. What is harmless is known of the built-in tools alone: a server may call
// its tools what it likes.
func (x *session) permissions() *agent.Permissions {
	ask := nobodyAsked(x.streams)
	if x.person != nil {
		ask = x.person.ask
	}
	return &agent.Permissions{
		Harmless: x.harmless,
		All:      x.flags.yes, Allow: x.flags.allow, Ask: x.beforeAsking(ask),
		Memory: &memory{project: x.dir, server: x.server, approved: approvedTools},
		Report: func(err error) { x.streams.Reportf("%s", err) },
	}
}

// nobodyAsked refuses at once, and says once of each tool what would let it run.
func nobodyAsked(s show.Streams) asker {
	var mu sync.Mutex
	said := map[string]bool{}
	return func(_ context.Context, a agent.Ask) (agent.Verdict, error) {
		hint := fmt.Sprintf("--allow %s lets it run unasked, and --yes lets all", show.ShellWord(a.Call.Name))
		mu.Lock()
		defer mu.Unlock()
		if !said[a.Call.Name] {
			said[a.Call.Name] = true
			s.Reportf("%s was not run: nobody can be asked; %s", a.Call.Name, hint)
		}
		return agent.Refuse, errors.New("who starts indus gives it: " + hint + ". Do not try it again")
	}
}

// memory is what a person allowed for good in a project. It implements [agent.Memory].
type memory struct {
	project  string
	server   func(id string) (interop.Server, bool)
	approved func() ([]mcpconfig.ApprovedTool, error)
}

// approvedTools are those of the moment: another process may revoke one.
func approvedTools() ([]mcpconfig.ApprovedTool, error) { return mcpconfig.ApprovedTools(nil) }

var _ agent.Memory = (*memory)(nil)

// Allowed implements [agent.Memory].
func (m *memory) Allowed(a agent.Ask) bool {
	want, err := m.approval(a)
	if err != nil {
		return false
	}
	list, err := m.approved()
	return err == nil && isApproved(list, want)
}

// isApproved reports whether what a person allowed covers a tool, or a file, as it is.
func isApproved(list []mcpconfig.ApprovedTool, want mcpconfig.ApprovedTool) bool {
	return slices.ContainsFunc(list, func(t mcpconfig.ApprovedTool) bool {
		return t.Project == want.Project && t.Tool == want.Tool && t.Fingerprint == want.Fingerprint
	})
}

// Allow implements [agent.Memory].
func (m *memory) Allow(a agent.Ask) error {
	t, err := m.approval(a)
	if err != nil {
		return err
	}
	return mcpconfig.ApproveTools(nil, t)
}

// approval is what is remembered of a call that may run for good: the tool as it says it is, the server as it is configured, and
// of a tool that can do anything the call itself.
func (m *memory) approval(a agent.Ask) (mcpconfig.ApprovedTool, error) {
	t := mcpconfig.ApprovedTool{Project: m.project, Tool: a.Call.Name}
	if !a.Listed() {
		return t, fmt.Errorf("%s is not listed now, so that nobody knows what it is", t.Tool)
	}
	server := ""
	if a.Tool.Server != "" {
		s, ok := m.server(a.Tool.Server)
		if !ok {
			return t, fmt.Errorf("server %s is not configured any more", a.Tool.Server)
		}
		server = ledger.Fingerprint(s)
	}
	whole := ""
	if a.Tool.Server == "" {
		t.Call, whole = exactCall(a.Call)
	}
	sum := sha256.New()
	for _, part := range []string{agent.Fingerprint(a.Tool), server, whole} {
		fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	t.Fingerprint = hex.EncodeToString(sum.Sum(nil))
	return t, nil
}

// exactCall is what is approved of a call of a tool that can do anything: of a command this very one, of a page its
// site. shown is for a person, without what looks like a secret; "" where every call of the tool is approved.
func exactCall(c toolbox.Call) (shown, whole string) {
	var in map[string]json.RawMessage
	var runs struct{ Command, URL, Path string } // as the tools read it: "Url" is "url"
	_, _ = json.Unmarshal(c.Input, &in), json.Unmarshal(c.Input, &runs)
	switch c.Name {
	case "bash", "process":
		delete(in, "timeout") // which changes nothing of what it does
		delete(in, "wait")
		b, err := json.Marshal(in)
		if in == nil || err != nil {
			b = bytes.TrimSpace(c.Input)
		}
		return secret.Text(strings.TrimSpace(runs.Command)), string(b)
	case "webfetch":
		u, err := url.Parse(runs.URL)
		if err != nil || u.Host == "" {
			return runs.URL, string(c.Input)
		}
		return u.Scheme + "://" + u.Host, u.Scheme + "://" + strings.ToLower(u.Host)
	case "read", "ls", "grep", "find": // which are asked about outside of a project
		return cmp.Or(runs.Path, "."), cmp.Or(string(bytes.TrimSpace(c.Input)), "{}")
	}
	return "", ""
}

// refusal returns the error that a call would end with, as far as that is known before it runs; nil: it may succeed.
type refusal func(context.Context, toolbox.Call) error

// beforeAsking asks nobody about a call that cannot run.
func (x *session) beforeAsking(ask asker) asker {
	return func(ctx context.Context, a agent.Ask) (agent.Verdict, error) {
		refuse := x.refusal
		if a.Tool.Server != "" || !a.Listed() {
			refuse = x.refusedByServers
		}
		if err := refuse(ctx, a.Call); err != nil {
			return agent.Refuse, agent.Refusal(err.Error())
		}
		return ask(ctx, a)
	}
}

// refusedByServers is the [refusal] of servers' tools: of one that the ledger holds, and of a server that is down.
func (x *session) refusedByServers(_ context.Context, c toolbox.Call) error {
	s := x.servers.Snapshot(c.Caller)
	if slices.Contains(s.Held, c.Name) {
		return errors.New("it is kept back, because it is not what it was when it was approved. A person has to accept it")
	}
	if listed := slices.ContainsFunc(s.Tools, func(d toolbox.Descriptor) bool { return d.Name == c.Name }); listed {
		return nil
	}
	if st, _ := x.statusOf(s.DownOwner(c.Name)); st.Fault != nil {
		return st.Fault
	}
	return nil
}
