package mcpconfig_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/mcpconfig"
)

// project is a directory with a project's file in it, and a home.
type project struct {
	t         *testing.T
	dir, home string
	env       map[string]string
}

func newProject(t *testing.T) *project {
	t.Helper()
	dir := tempDir(t)
	p := &project{t: t, dir: filepath.Join(dir, "work"), home: filepath.Join(dir, "home"), env: map[string]string{}}
	mkdir(t, p.home)
	return p
}

func (p *project) options() *mcpconfig.Options {
	return &mcpconfig.Options{Dir: p.dir, Home: p.home, Env: lookup(p.env)}
}

func (p *project) file() string { return filepath.Join(p.dir, ".indusvx", "mcp.json") }
func (p *project) store() string {
	return filepath.Join(mcpconfig.StateDir(p.options()), "approvals.json")
}

func (p *project) write(text string) { write(p.t, p.file(), text) }

func (p *project) read() *mcpconfig.Config {
	p.t.Helper()
	c, err := mcpconfig.Read(p.t.Context(), nil, p.options())
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

// approveAll approves all held rows, in order.
func (p *project) approveAll() {
	p.t.Helper()
	c := p.read()
	for _, r := range c.Held() {
		r, err := c.Resolve(p.t.Context(), r)
		if err != nil {
			p.t.Fatal(err)
		}
		p.approve(r)
	}
}

func (p *project) approve(rows ...mcpconfig.Row) {
	p.t.Helper()
	if err := mcpconfig.Approve(p.options(), rows...); err != nil {
		p.t.Fatal(err)
	}
}

func states(c *mcpconfig.Config) string {
	var b strings.Builder
	for _, r := range c.Rows {
		fmt.Fprintf(&b, "%s %s\n", r.Server.ID, r.State)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func TestApproveLetsARowStart(t *testing.T) {
	p := newProject(t)
	p.write(`{"servers": {"a": {"command": "x"}, "b": {"command": "x"}, "off": {"command": "x", "disabled": true}}}`)
	c := p.read()
	if got, want := states(c), "a held\nb held\noff disabled"; got != want {
		t.Fatalf("at first: %s", got)
	}
	p.approve(c.Rows[0])
	c = p.read()
	if got, want := states(c), "a active\nb held\noff disabled"; got != want {
		t.Errorf("approved: %s", got)
	}
	list, err := mcpconfig.Approvals(p.options())
	if err != nil || len(list) != 1 || time.Since(list[0].At) > time.Minute {
		t.Fatal(list, err)
	}
	list[0].At = time.Time{}
	want := []mcpconfig.Approved{{File: p.file(), ID: "a", Fingerprint: c.Rows[0].Approval}}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Error(diff)
	}
	if err := mcpconfig.Revoke(p.options(), c.Rows...); err != nil {
		t.Fatal(err)
	}
	if got, want := states(p.read()), "a held\nb held\noff disabled"; got != want {
		t.Errorf("revoked: %s", got)
	}
}

func TestApproveRefusesWhatCannotRun(t *testing.T) {
	p := newProject(t)
	p.write(`{"servers": {"a": {"command": "x"}, "off": {"command": "${UNSET}"}}}`)
	err := mcpconfig.Approve(p.options(), p.read().Rows...)
	if err == nil || !strings.Contains(err.Error(), `"off" of `+p.file()+" has nothing to approve: it is skipped") {
		t.Error(err)
	}
	if list, err := mcpconfig.Approvals(p.options()); len(list) != 0 || err != nil {
		t.Errorf("one was approved all the same: %v, %v", list, err)
	}
}

// An approval must not cover another program or another destination that is written into a repository's file
// later.
func TestWhatAsksAgain(t *testing.T) {
	t.Parallel()
	const stdio = `{"command": "run", "args": ["a", "${ARG}", "${cmd:echo one}"], "env": {"A": "${TOKEN}", "B": "b"}, "cwd": "sub"}`
	const remote = `{"url": "https://h/${ARG}", "headers": {"A": "${TOKEN}", "B": "b"}}`
	const signIn = `{"url": "https://h/", "tls": {"ca": "ca.pem"}, "oauth": {"issuer": "https://as/${ARG}", "clientId": "c", "clientSecret": "${TOKEN}", "scopes": "a"}}`
	for _, tt := range []struct {
		name, old, new string
		env            string // NAME=value, set before the second reading
		asks           bool
	}{
		{"nothing", stdio, stdio, "", false},
		{"layout and comments", stdio, `{"cwd": "sub", /* new */ "env": {"B": "b", "A": "${TOKEN}",}, "args": ["a", "${ARG}", "${cmd:echo one}"], "command": "run", "_": 1, "timeout": 90000}`, "", false},
		{"the value of a variable in env", stdio, stdio, "TOKEN=new", false},
		{"what a shorter text means", `{"command": "run", "args": ["${ARG}"]}`, `{"command": "run", "args": ["arg"]}`, "", false},

		{"command", stdio, strings.Replace(stdio, `"run"`, `"evil"`, 1), "", true},
		{"argument", stdio, strings.Replace(stdio, `"a"`, `"b"`, 1), "", true},
		{"arguments run together", `{"command": "run", "args": ["a", "b"]}`, `{"command": "run", "args": ["ab"]}`, "", true},
		{"argument moved to the command", `{"command": "run", "args": ["a"]}`, `{"command": "runa"}`, "", true},
		{"the value of a variable in an argument", stdio, stdio, "ARG=new", true},
		{"cwd", stdio, strings.Replace(stdio, `"sub"`, `"other"`, 1), "", true},
		{"inheritEnv", stdio, strings.Replace(stdio, `"cwd"`, `"inheritEnv": true, "cwd"`, 1), "", true},
		{"env name", stdio, strings.Replace(stdio, `"B"`, `"LD_PRELOAD"`, 1), "", true},
		{"env value", stdio, strings.Replace(stdio, `"b"`, `"./evil.so"`, 1), "", true},
		{"another variable in env", stdio, strings.Replace(stdio, `${TOKEN}`, `${AWS_SECRET}`, 1), "", true},
		{"values that change places", `{"command": "run", "env": {"A": "1", "B": "2"}}`, `{"command": "run", "env": {"A": "2", "B": "1"}}`, "", true},
		{"a command in env", stdio, strings.Replace(stdio, `"b"`, `"${cmd:evil}"`, 1), "", true},
		{"another command", stdio, strings.Replace(stdio, `echo one`, `echo  one`, 1), "", true},
		{"a file instead of a command", stdio, strings.Replace(stdio, `${cmd:echo one}`, `${file:one}`, 1), "", true},
		{"a command in the place of its text", `{"command": "run", "args": ["$${cmd:x}"]}`, `{"command": "run", "args": ["${cmd:x}"]}`, "", true},
		{"a command that no default needs today", stdio, strings.Replace(stdio, `"${ARG}"`, `"${ARG:-${cmd:evil}}"`, 1), "", true},
		{"a command in a default, once it is needed", `{"command": "run", "args": ["${OPT:-${cmd:echo a}}"]}`, `{"command": "run", "args": ["${OPT:-${cmd:echo a}}"]}`, "OPT=b", true},
		{"a directory around a command", `{"command": "run", "cwd": "${cmd:echo sub/b}"}`, `{"command": "run", "cwd": "${cmd:echo sub/b}/.."}`, "", true},
		{"url", remote, strings.Replace(remote, `//h/`, `//evil/`, 1), "", true},
		{"the value of a variable in a url", remote, remote, "ARG=new", true},
		{"header name", remote, strings.Replace(remote, `"B"`, `"C"`, 1), "", true},
		{"header value", remote, strings.Replace(remote, `"b"`, `"${AWS_SECRET}"`, 1), "", true},
		{"a sign-in elsewhere", signIn, strings.Replace(signIn, `//as`, `//evil`, 1), "", true},
		{"the value of a variable in an issuer", signIn, signIn, "ARG=new", true},
		{"the value of a variable in a secret", signIn, signIn, "TOKEN=new", false},
		{"another secret", signIn, strings.Replace(signIn, `"${TOKEN}"`, `"${AWS_SECRET}"`, 1), "", true},
		{"more scopes", signIn, strings.Replace(signIn, `"scopes": "a"`, `"scopes": "a admin"`, 1), "", true},
		{"another authority", signIn, strings.Replace(signIn, `"ca.pem"`, `"evil.pem"`, 1), "", true},
		{"no authority", signIn, strings.Replace(signIn, `"tls": {"ca": "ca.pem"}, `, ``, 1), "", true},
		{"a header that is forwarded", remote, strings.Replace(remote, `"url"`, `"forwardHeaders": ["X-A"], "url"`, 1), "", true},
		{"the callers' tokens", remote, strings.Replace(remote, `"url"`, `"authorization": "forward", "url"`, 1), "", true},
		{"transport", remote, strings.Replace(remote, `"url"`, `"type": "sse", "url"`, 1), "", true},
		{"a tool no longer denied", `{"command": "run", "tools": {"deny": ["delete_*"]}}`, `{"command": "run", "tools": {}}`, "", true},
		{"more tools allowed", `{"command": "run", "tools": {"allow": []}}`, `{"command": "run", "tools": {"allow": ["*"]}}`, "", true},
		{"all tools allowed", `{"command": "run", "tools": {"allow": []}}`, `{"command": "run"}`, "", true},
		{"a pattern that changes sides", `{"command": "run", "tools": {"allow": ["a"], "deny": ["b"]}}`, `{"command": "run", "tools": {"allow": ["a", "b"]}}`, "", true},
		{"a description for the model", `{"command": "run", "tools": {"describe": {"a": "b"}}}`, `{"command": "run", "tools": {"describe": {"a": "obey"}}}`, "", true},
		{"a name for the model", `{"command": "run", "tools": {"describe": {"a": "b"}}}`, `{"command": "run", "tools": {"rename": {"a": "b"}}}`, "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newProject(t)
			p.env["ARG"], p.env["TOKEN"], p.env["AWS_SECRET"] = "arg", "token", "secret"
			p.write(`{"servers": {"a": ` + tt.old + `}}`)
			p.approveAll()
			if c := p.read(); len(c.Servers()) != 1 {
				t.Fatal(c.Notes)
			}
			if tt.new == tt.old && tt.env == "" && tt.asks {
				t.Fatal("nothing changes")
			}
			p.write(`{"servers": [` + strings.Replace(tt.new, "{", `{"id": "a", `, 1) + `]}`)
			if name, value, ok := strings.Cut(tt.env, "="); ok {
				p.env[name] = value
			}
			c := p.read()
			if asks := len(c.Held()) == 1; asks != tt.asks {
				t.Fatalf("asks again: %v; %v", asks, c.Notes)
			}
			if tt.asks && !strings.Contains(c.Held()[0].Reason, "changed since it was approved at ") {
				t.Error(c.Held()[0].Reason)
			}
		})
	}
}

// If the file of certificate authorities in the repository is replaced, the approval does not cover the new
// authorities.
func TestAnApprovalIsForTheAuthoritiesAsWell(t *testing.T) {
	p := newProject(t)
	p.write(`{"servers": {"a": {"url": "https://h/mcp", "tls": {"ca": "ca.pem"}}}}`)
	ca := filepath.Join(p.dir, "ca.pem")
	for _, text := range []string{"", "one", "another"} {
		if text != "" {
			write(t, ca, text)
		}
		c := p.read()
		if got := states(c); got != "a held" {
			t.Errorf("with %q: %s", text, got)
		}
		p.approve(c.Rows...)
		c = p.read()
		if got := states(c); got != "a active" || !slices.Contains(c.Watched, ca) {
			t.Errorf("with %q, approved: %s, and watched are %v", text, got, c.Watched)
		}
	}
	write(t, ca, strings.Repeat("#", 1<<20+1)) // too large to be read here, although a connection would read it
	if got := states(p.read()); got != "a skipped" {
		t.Error(got)
	}
	p.write(`{"servers": {"a": {"url": "https://h/mcp", "tls": {"ca": "${file:path}"}}}}`)
	if got := states(p.read()); got != "a skipped" {
		t.Error(got)
	}
}

func TestAnApprovalIsForOneNameInOneFile(t *testing.T) {
	p := newProject(t)
	p.write(`{"servers": {"a": {"command": "x"}}}`)
	p.approve(p.read().Held()...)
	p.write(`{"servers": {"b": {"command": "x"}}}`)
	if got := states(p.read()); got != "b held" {
		t.Errorf("another name: %s", got)
	}
	other := &project{t: t, dir: p.dir + "2", home: p.home}
	other.write(`{"servers": {"a": {"command": "x"}}}`)
	if got := states(other.read()); got != "a held" {
		t.Errorf("another file: %s", got)
	}
}

func TestAnApprovalIsForWhereTheFileIs(t *testing.T) {
	p := newProject(t)
	p.write(`{"servers": {"a": {"command": "./run.sh"}}}`)
	p.approve(p.read().Held()...)

	// The approval holds for another path to the same project.
	way := &project{t: t, dir: p.dir + "-link", home: p.home}
	if err := os.Symlink(p.dir, way.dir); err != nil {
		t.Skip(err)
	}
	if got := states(way.read()); got != "a active" {
		t.Errorf("through a link to the project: %s", got)
	}
	// A link to the file from another project would run another run.sh.
	thief := &project{t: t, dir: p.dir + "-thief", home: p.home}
	mkdir(t, filepath.Dir(thief.file()))
	if err := os.Symlink(p.file(), thief.file()); err != nil {
		t.Fatal(err)
	}
	if got := states(thief.read()); got != "a held" {
		t.Errorf("through a link to the file: %s", got)
	}
}

// Only rows of a project's file are held, so approvals are looked up only for these rows.
func TestTheUsersOwnRowsHaveNothingToApprove(t *testing.T) {
	p := newProject(t)
	write(t, filepath.Join(p.home, ".config", "indusvx", "mcp.json"), `{"servers": {"mine": {"command": "x"}}}`)
	write(t, p.store(), `broken`)
	c := p.read()
	if len(c.Notes) != 0 || states(c) != "mine active" || c.Rows[0].Approval != "" {
		t.Errorf("%v, %v", c.Rows, c.Notes)
	}
}

func TestAStoreThatCannotBeTrustedCountsForNothing(t *testing.T) {
	t.Parallel()
	const broken = ", so it is ignored; correct it, or remove it and approve again"
	for _, tt := range []struct {
		name string
		make func(p *project, store string) error
		want string
	}{
		{"broken", func(_ *project, s string) error { return os.WriteFile(s, []byte(`{"version": 1, `), 0o600) }, "$: it cannot be read" + broken},
		{"trailing text", func(_ *project, s string) error { return os.WriteFile(s, []byte(`{"version": 1} {}`), 0o600) }, "$: it cannot be read" + broken},
		{"other types", func(_ *project, s string) error {
			return os.WriteFile(s, []byte(`{"version": 1, "approvals": {"a": 1}}`), 0o600)
		}, "$: it cannot be read" + broken},
		{"empty", func(_ *project, s string) error { return os.WriteFile(s, nil, 0o600) }, "$: is empty" + broken},
		{"a later version", func(_ *project, s string) error { return os.WriteFile(s, []byte(`{"version": 2}`), 0o600) }, "$: it has version 2, and this program knows 1" + broken},
		{"huge", func(_ *project, s string) error {
			if err := os.WriteFile(s, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(s, 8<<20+1)
		}, "$: larger than 8 MiB" + broken},
		{"a directory", func(_ *project, s string) error { return os.Mkdir(s, 0o700) }, "$: not a file but a directory" + broken},
		{"written by others", func(_ *project, s string) error { return os.Chmod(s, 0o622) }, "$: others may write here (mode 0622), so nothing in it counts; look through it, then: chmod go-w $"},
		{"in a directory of others", func(_ *project, s string) error { return os.Chmod(filepath.Dir(s), 0o777) }, "@: others may write here (mode 0777), so nothing in it counts; look through it, then: chmod go-w @"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if runtime.GOOS == "windows" {
				t.Skip("modes say nothing there")
			}
			p := newProject(t)
			p.write(`{"servers": {"a": {"command": "x"}, "b": {"command": "x"}}}`)
			p.approve(p.read().Held()[0])
			if tt.name == "a directory" {
				if err := os.Remove(p.store()); err != nil {
					t.Fatal(err)
				}
			}
			if err := tt.make(p, p.store()); err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadFile(p.store())
			c := p.read()
			if got := states(c); got != "a held\nb held" {
				t.Fatalf("%s", got)
			}
			want := strings.NewReplacer("$", p.store(), "@", filepath.Dir(p.store())).Replace(tt.want)
			if got := c.Notes[0].String(); got != "approvals: "+want {
				t.Errorf("note %s\nwant approvals: %s", got, want)
			}
			for verb, change := range map[string]func(*mcpconfig.Options, ...mcpconfig.Row) error{
				"approve": mcpconfig.Approve, "revoke": mcpconfig.Revoke,
			} {
				if err := change(p.options(), c.Held()...); err == nil || err.Error() != verb+": "+want {
					t.Errorf("%s: %v", verb, err)
				}
			}
			if after, _ := os.ReadFile(p.store()); string(after) != string(before) {
				t.Error("the store was overwritten")
			}
		})
	}
}

func TestTheStoreIsTheUsersAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing there")
	}
	p := newProject(t)
	p.write(`{"servers": {"a": {"command": "x", "env": {"A": "s3cret"}}}}`)
	p.approve(p.read().Held()...)
	for path, want := range map[string]os.FileMode{p.store(): 0o600, filepath.Dir(p.store()): 0o700} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(p.store()))
	if err != nil || len(entries) != 2 { // the other entry is the lock
		t.Error(entries, err)
	}
	if text, err := os.ReadFile(p.store()); err != nil || strings.Contains(string(text), "s3cret") {
		t.Errorf("%s, %v", text, err)
	}
}

func TestStateDir(t *testing.T) {
	abs, err := filepath.Abs("state")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		o    mcpconfig.Options
		want string
	}{
		{"option", mcpconfig.Options{State: "s", Home: "h", Env: lookup(map[string]string{"XDG_STATE_HOME": abs})}, "s"},
		{"XDG", mcpconfig.Options{Home: "h", Env: lookup(map[string]string{"XDG_STATE_HOME": abs})}, filepath.Join(abs, "indus")},
		{"relative XDG", mcpconfig.Options{Home: "h", Env: lookup(map[string]string{"XDG_STATE_HOME": "state"})}, filepath.Join("h", ".local", "state", "indus")},
		{"home", mcpconfig.Options{Home: "h", Env: lookup(nil)}, filepath.Join("h", ".local", "state", "indus")},
		{"nothing", mcpconfig.Options{Env: lookup(nil)}, ""},
	} {
		if got := mcpconfig.StateDir(&tt.o); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestWithoutAHomeNothingIsRemembered(t *testing.T) {
	p := newProject(t)
	p.home = ""
	p.write(`{"servers": {"a": {"command": "x"}}}`)
	c := p.read()
	if got := states(c); got != "a held" || len(c.Notes) != 1 {
		t.Error(got, c.Notes)
	}
	err := mcpconfig.Approve(p.options(), c.Rows...)
	if err == nil || err.Error() != "approve: there is no home directory to remember it in; set HOME or XDG_STATE_HOME" {
		t.Error(err)
	}
}

// Each process approves one row. No approval of another process is lost.
func TestProcessesApproveAtOnce(t *testing.T) {
	t.Parallel()
	const processes = 10
	if id := os.Getenv("MCPCONFIG_TEST_APPROVE"); id != "" {
		p := &project{t: t, dir: os.Getenv("MCPCONFIG_TEST_DIR"), home: os.Getenv("MCPCONFIG_TEST_HOME")}
		for _, r := range p.read().Rows {
			if r.Server.ID == id {
				p.approve(r)
			}
		}
		return
	}
	p := newProject(t)
	var rows []string
	for i := range processes {
		rows = append(rows, fmt.Sprintf(`"s%d": {"command": "x"}`, i))
	}
	p.write(`{"servers": {` + strings.Join(rows, ",") + `}}`)
	var running []*exec.Cmd
	for i := range processes {
		c := exec.Command(os.Args[0], "-test.run=^TestProcessesApproveAtOnce$", "-test.count=1")
		c.Env = append(os.Environ(), fmt.Sprintf("MCPCONFIG_TEST_APPROVE=s%d", i), "MCPCONFIG_TEST_DIR="+p.dir, "MCPCONFIG_TEST_HOME="+p.home)
		c.Stderr = os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		running = append(running, c)
	}
	for _, c := range running {
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}
	if c := p.read(); len(c.Servers()) != processes || len(c.Notes) != 0 {
		t.Errorf("%d of %d approved: %v", len(c.Servers()), processes, c.Notes)
	}
}
