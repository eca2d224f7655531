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
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/agent/standard"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/toolbox"
)

// askFunc asks the user for permission.
type askFunc func(context.Context, agent.Ask) (agent.Verdict, error)

// permissions returns the permissions that guard each call. Only built-in tools can be harmless, because a server may
// describe its tools in any way.
func (x *session) permissions() *agent.Permissions {
	ask := refuseAll(x.streams)
	if x.person != nil {
		ask = x.person.ask
	}
	return &agent.Permissions{
		Harmless: x.isHarmless,
		All:      x.flags.yes, Allow: x.flags.allow, Ask: x.withRefusal(ask),
		Memory: &memory{project: x.dir, server: x.server, approved: approvedTools},
		Report: func(err error) { x.streams.Reportf("%s", err) },
	}
}

// refuseAll returns an asker that refuses at once. For each tool it reports once how to allow it.
func refuseAll(s show.Streams) askFunc {
	var mu sync.Mutex
	reported := map[string]bool{}
	return func(_ context.Context, a agent.Ask) (agent.Verdict, error) {
		hint := fmt.Sprintf("--allow %s lets it run unasked, and --yes lets all", show.ShellWord(a.Call.Name))
		mu.Lock()
		defer mu.Unlock()
		if !reported[a.Call.Name] {
			reported[a.Call.Name] = true
			s.Reportf("%s was not run: no user can be asked; %s", a.Call.Name, hint)
		}
		return agent.Refuse, errors.New("it is given at the start of indus: " + hint + ". Do not try it again")
	}
}

// memory holds the user's permanent permissions in a project. It implements [agent.Memory].
type memory struct {
	project  string
	server   func(id string) (config.Server, bool)
	approved func() ([]mcpconfig.ApprovedTool, error)
}

// approvedTools returns the current list, because another process may revoke an approval.
func approvedTools() ([]mcpconfig.ApprovedTool, error) { return mcpconfig.ApprovedTools(nil) }

var _ agent.Memory = (*memory)(nil)

// Allowed implements [agent.Memory].
func (m *memory) Allowed(a agent.Ask) bool {
	approval, err := m.approval(a)
	if err != nil {
		return false
	}
	list, err := m.approved()
	return err == nil && isApproved(list, approval)
}

// isApproved reports whether the list contains the tool or file with the same fingerprint.
func isApproved(list []mcpconfig.ApprovedTool, approval mcpconfig.ApprovedTool) bool {
	return slices.ContainsFunc(list, func(t mcpconfig.ApprovedTool) bool {
		return t.Project == approval.Project && t.Tool == approval.Tool && t.Fingerprint == approval.Fingerprint
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

// approval returns the record of a permanent permission: the tool's definition and the server's configuration. For a
// tool that can do anything it also has the call itself.
func (m *memory) approval(a agent.Ask) (mcpconfig.ApprovedTool, error) {
	t := mcpconfig.ApprovedTool{Project: m.project, Tool: a.Call.Name}
	if !a.Listed() {
		return t, fmt.Errorf("%s is not listed now, so its definition is unknown", t.Tool)
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

// exactCall returns the part of a call to approve for a tool that can do anything: the exact command, or the site of a
// page. The string shown is for the user and hides text that looks like a secret. Both strings are "" if an approval
// covers every call of the tool.
func exactCall(c toolbox.Call) (shown, whole string) {
	var in map[string]json.RawMessage
	var call struct{ Command, URL, Path string } // decoded as the tools do: "Url" is "url"
	_, _ = json.Unmarshal(c.Input, &in), json.Unmarshal(c.Input, &call)
	switch c.Name {
	case "bash", "process":
		delete(in, "timeout") // it does not change the effect of the call
		delete(in, "wait")
		b, err := json.Marshal(in)
		if in == nil || err != nil {
			b = bytes.TrimSpace(c.Input)
		}
		return secret.Text(strings.TrimSpace(call.Command)), string(b)
	case "webfetch":
		u, err := url.Parse(call.URL)
		if err != nil || u.Host == "" {
			return call.URL, string(c.Input)
		}
		return u.Scheme + "://" + u.Host, u.Scheme + "://" + strings.ToLower(u.Host)
	case "read", "ls", "grep", "find": // outside of a project these calls need approval
		return cmp.Or(call.Path, "."), cmp.Or(string(bytes.TrimSpace(c.Input)), "{}")
	}
	return "", ""
}

// refusalFunc returns the error with which a call would end, as far as it is known in advance, or nil if the call may
// succeed.
type refusalFunc func(context.Context, toolbox.Call) error

// withRefusal refuses calls that cannot succeed without asking the user.
func (x *session) withRefusal(ask askFunc) askFunc {
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

// refusedByServers is the [refusal] for tools of servers: tools that the ledger holds back, and tools of a server that
// is down.
func (x *session) refusedByServers(_ context.Context, c toolbox.Call) error {
	s := x.servers.Snapshot(c.Caller)
	if slices.Contains(s.Held, c.Name) {
		return errors.New("it is held back, because it changed after it was approved. A person has to accept it")
	}
	if listed := slices.ContainsFunc(s.Tools, func(d toolbox.Descriptor) bool { return d.Name == c.Name }); listed {
		return nil
	}
	if st, _ := x.statusOf(s.DownOwner(c.Name)); st.Fault != nil {
		return st.Fault
	}
	return nil
}

// fileTools are the built-in tools that read files.
var fileTools = []string{"read", "ls", "grep", "find"}

// isHarmless reports whether a call runs without asking. Reads of files do, unless the working directory is private.
func (x *session) isHarmless(a agent.Ask) bool {
	if a.Tool.Server != "" || !standard.Harmless(a.Call) {
		return false
	}
	return x.private == "" || !slices.Contains(fileTools, a.Call.Name)
}

// privateReason returns the reason for which reads of files in the directory must ask, or "" in a project. The home
// directory, its hidden directories and the system's directories for programs hold keys, tokens, browser profiles and
// transcripts.
func privateReason(dir string, homes, own []string) string {
	for _, home := range homes {
		if command.IsBelow(home, dir) {
			return "the home directory is in the working directory"
		}
		for at := dir; at != filepath.Dir(at); at = filepath.Dir(at) {
			first := strings.ToLower(filepath.Base(at))
			hidden := strings.HasPrefix(first, ".") || first == "library" || first == "appdata"
			if hidden && command.SameDirectory(home, filepath.Dir(at)) {
				return "the working directory is in " + filepath.Join("~", filepath.Base(at)) +
					", where programs keep their own data"
			}
		}
	}
	for _, place := range own {
		if command.IsBelow(place, dir) || command.IsBelow(dir, place) {
			return "indus keeps its own files in the working directory"
		}
	}
	return ""
}
