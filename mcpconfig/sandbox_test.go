package mcpconfig_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig"
)

// writeOwn writes the user's own file.
func (p *project) writeOwn(text string) {
	p.t.Helper()
	write(p.t, filepath.Join(p.home, ".config", "indusvx", "mcp.json"), text)
}

// trusted reads with Options.Trust, and returns the row with an id that counts.
func (p *project) trusted(id string, paths ...string) mcpconfig.Row {
	p.t.Helper()
	o := p.options()
	o.Trust = true
	c, err := mcpconfig.Read(p.t.Context(), paths, o)
	if err != nil {
		p.t.Fatal(err)
	}
	row, _ := c.Find(id, nil)
	return row
}

func TestTheSandboxOfARow(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.env["PORT"] = "443"
	mkdir(t, filepath.Join(p.home, "real"))
	if err := os.Symlink("real", filepath.Join(p.home, "link")); err != nil {
		t.Skip(err)
	}
	p.writeOwn(`{"sandboxDefault": "strict", "servers": {
		"default": {"command": "x"},
		"off": {"command": "x", "sandbox": "off"},
		"package": {"command": "x", "sandbox": "package"},
		"empty": {"command": "x", "sandbox": {}},
		"remote": {"url": "https://h"},
		"all": {"command": "x", "sandbox": {
			"base": "package", "read": ["~", "~/link/a", "below", "${userHome}/../up", "${workspaceFolder}"], "write": ["/w"],
			"hosts": ["API.h:${PORT}", "*:80"], "listen": [0, 3000], "sockets": ["/s"],
			"limits": {"files": 64, "memory": "1GiB", "processes": 8}, "proc": false, "required": false}},
		"real": {"command": "x", "sandbox": {"home": "real", "read": ["~/.npmrc"]}},
	}}`)
	mkdir(t, p.dir)
	state := filepath.Join(p.home, ".local", "state", "indus")
	home := func(id string) string {
		return filepath.Join(state, "box", fmt.Sprintf("%s-%.4x", id, sha256.Sum256([]byte(id))))
	}
	for id, want := range map[string]*config.Sandbox{
		"default": {Base: config.Strict, Home: home("default")},
		"off":     nil,
		"package": {Base: config.Package, Home: home("package")},
		"empty":   {Base: config.Strict, Home: home("empty")},
		"remote":  nil,
		"all": {
			Base: config.Package, Read: []string{p.home, filepath.Join(p.home, "real", "a"),
				filepath.Join(p.home, ".config", "indusvx", "below"), filepath.Join(filepath.Dir(p.home), "up"), p.dir},
			Write: []string{"/w"}, Hosts: []string{"api.h:443", "*:80"}, Listen: []int{0, 3000}, Sockets: []string{"/s"},
			Limits: config.Limits{Files: 64, Memory: 1 << 30, Processes: 8}, NoProc: true, Optional: true, Home: home("all"),
		},
		"real": {Base: config.Strict, Read: []string{filepath.Join(p.home, ".npmrc")}, RealHome: true},
	} {
		row := p.trusted(id)
		if diff := cmp.Diff(want, row.Sandbox()); diff != "" || row.State != mcpconfig.Active {
			t.Errorf("%s: %s %s%s", id, row.State, row.Reason, diff)
		}
	}
}

// Each mistake has the place of the value, and a server whose sandbox is not understood does not start.
func TestASandboxThatIsWrong(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	mkdir(t, p.dir)
	for row, want := range map[string]string{
		`"sandbox": "loose"`:                            `:12: server "a": unknown sandbox "loose"; there are strict, package, off`,
		`"sandbox": 1`:                                  `:12: server "a": "sandbox" is a number where "strict", "package", "off" or an object is expected`,
		`"sandbox": {"read": "/a"}`:                     `:21: server "a": "sandbox.read" is a string where a list of paths is expected`,
		`"sandbox": {"raed": []}`:                       `:13: server "a": unknown key "raed" in "sandbox"; did you mean "read"?`,
		`"sandbox": {"base": "off"}`:                    `:21: server "a": unknown sandbox.base "off"; there are strict, package`,
		`"sandbox": {"read": ["", 1]}`:                  `:22: server "a": sandbox.read[0] is empty`,
		`"sandbox": {"read": ["${X:-}"]}`:               `:22: server "a": sandbox.read[0] is empty`,
		`"sandbox": {"read": ["${NO}"]}`:                `:22: server "a": sandbox.read[0]: the variable NO is not set; set it, or give a default: ${NO:-…}`,
		`"sandbox": {"read": ["${cmd:pwd}"]}`:           `:22: server "a": sandbox.read[0]: ${file:…} and ${cmd:…} are not read here; take a variable, ${NAME}`,
		`"sandbox": {"write": ["~you/a"]}`:              `:23: server "a": sandbox.write[0] begins with "~" and does not name a known home directory; write the whole path`,
		`"sandbox": {"hosts": ["h:1", "api.h"]}`:        `:30: server "a": sandbox.hosts[1] has no port; write "api.example.com:443", or "*.example.com:443"`,
		`"sandbox": {"listen": [70000]}`:                `:24: server "a": "sandbox.listen[0]" is no whole number from 0 to 65535; 0 is any free port`,
		`"sandbox": {"limits": {"memory": "1MB"}}`:      `:34: server "a": "sandbox.limits.memory" is no size from 16MiB to 1024GiB; write "1GiB"`,
		`"sandbox": {"limits": {"cpu": 1}}`:             `:24: server "a": unknown key "cpu" in "sandbox.limits"; it has "files", "memory", "processes"`,
		`"sandbox": {"home": "real"}`:                   `:12: server "a": "home" is "real", and neither "read" nor "write" has a path in it; name what the server needs there`,
		`"sandbox": {"read": [], "read": ["/"]}`:        `:13: server "a": "read" comes again in "sandbox"`,
		`"sandbox": "strict", "sandbox": "off"`:         `:1: server "a": "sandbox" comes twice in this row; make one of the two`,
		`"sandbx": "strict"`:                            `:1: server "a": unknown key "sandbx"; did you mean "sandbox"?`,
		`"sandboxEnabled": true`:                        `:1: server "a": unknown key "sandboxEnabled"; did you mean "sandbox"?`,
		`"command": "/usr/bin/docker", "sandbox": {}`:   `:42: server "a": /usr/bin/docker does its work outside of its own process, where "sandbox" does not confine it; remove it, or write "sandbox": "off"`,
		`"url": "https://h", "sandbox": "off"`:          `:32: server "a": "sandbox" is only for a command, and the row has a "url"; remove it`,
		`"sandbox": {"sockets": ["/run/docker.sock"]}`:  `:25: server "a": sandbox.sockets[0]: with this socket the server can start a container with any file of the machine`,
		`"sandbox": {"write": ["~"]}`:                   `:23: server "a": sandbox.write[0]: the server can change the files of indus there, and so its own sandbox`,
		`"sandbox": {"write": ["~/.config/indusvx/x"]}`: `:23: server "a": sandbox.write[0]: the server can change the files of indus there, and so its own sandbox`,
	} {
		if !strings.Contains(row, "command") && !strings.Contains(row, "url") {
			row += `, "command": "x"`
		}
		p.writeOwn("{\"servers\": {\"a\": {\n" + row + "}}}")
		c := p.read()
		text := ""
		for _, n := range c.Notes {
			text += n.String() + "\n"
		}
		isAdvice := strings.Contains(want, "with this socket") || strings.Contains(want, "can change the files")
		if !strings.Contains(text, "mcp.json:2"+want) || (c.Rows[0].State == mcpconfig.Active) != isAdvice {
			t.Errorf("%s: %s\n%s", row, c.Rows[0].State, cmp.Diff(want, text))
		}
	}
}

// A cloned repository widens no sandbox, even if its servers are approved. The user's files of a case are in home, and
// the project in work.
func TestAProjectWidensNoSandbox(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the paths are those of Unix")
	}
	const strict = `{"sandboxDefault": "strict", "servers": {}}`
	run := func(row string) string { return `{"servers": {"a": {"command": "x", ` + row + `}}}` }
	for _, c := range []struct {
		name, own, project string
		want               string // a part of the reason, or "" if the server starts in a sandbox within the limit
		limit              config.Sandbox
		links              map[string]string
		env                map[string]string
		path               string
	}{
		{name: "off", project: run(`"sandbox": "off"`), want: `"sandbox" of a project allows more than your own files allow projects: no sandbox`},
		{name: "off of the file", project: `{"sandboxDefault": "off", "servers": {"a": {"command": "x"}}}`, want: "no sandbox"},
		{name: "another base", project: run(`"sandbox": "package"`), want: "base package"},
		{name: "another base of the file", project: `{"servers": {"a": {"command": "x"}}, "sandboxDefault": "package"}`, want: "base package"},
		{name: "a file outside", project: run(`"sandbox": {"read": ["/home"]}`), want: "read /home"},
		{name: "two dots", project: run(`"sandbox": {"read": ["src/../../home"]}`), want: "read HOME"},
		{name: "the directory around", project: run(`"sandbox": {"read": ["${workspaceFolder}/.."]}`), want: "read "},
		{name: "a name that begins alike", project: run(`"sandbox": {"read": ["${workspaceFolder}s"]}`), want: "read WORKs"},
		{name: "other case", project: run(`"sandbox": {"read": ["../WORK"]}`), want: "read "},
		{name: "the home", project: run(`"sandbox": {"read": ["~/.ssh"]}`), want: "read HOME/.ssh"},
		{name: "a variable", project: run(`"sandbox": {"read": ["${env:SECRETS}"]}`), env: map[string]string{"SECRETS": "/keys"}, want: "read /keys"},
		{name: "a variable that is empty", project: run(`"sandbox": {"read": ["${EMPTY}"]}`), env: map[string]string{"EMPTY": ""}, want: "is empty"},
		{name: "the row's own variable", project: run(`"env": {"D": "/keys"}, "sandbox": {"read": ["${D}"]}`), want: "the variable D is not set"},
		{name: "a default", project: run(`"sandbox": {"read": ["${NO:-/keys}"]}`), want: "read /keys"},
		{name: "a command's output", project: run(`"sandbox": {"read": ["${cmd:echo /}"]}`), want: "${cmd:…} are not read here"},
		{name: "a link to the home", project: run(`"sandbox": {"read": ["link"]}`), links: map[string]string{"work/link": "../home"}, want: "read HOME"},
		{name: "a link on the way", project: run(`"sandbox": {"read": ["link/.ssh/id"]}`), links: map[string]string{"work/link": "../home"}, want: "read HOME/.ssh/id"},
		{name: "a link to nothing yet", project: run(`"sandbox": {"read": ["link"]}`), links: map[string]string{"work/link": "../home/later"}, want: "read HOME/later"},
		{name: "the project as a link", project: run(`"sandbox": {"read": ["${workspaceFolder}"]}`), links: map[string]string{"clone": "work"}, path: "clone"},
		{name: "writing the project", project: run(`"sandbox": {"write": ["${workspaceFolder}"]}`), want: "write WORK"},
		{name: "its own file", project: run(`"sandbox": {"write": [".indusvx/mcp.json"]}`), want: "write "},
		{name: "a host", project: run(`"sandbox": {"hosts": ["h:443"]}`), want: "host h:443"},
		{name: "a host beside a pattern", own: `{"sandboxProject": {"hosts": ["*.h:443"]}, "servers": {}}`, project: run(`"sandbox": {"hosts": ["h:443", "a.h:80", "xh:443"]}`),
			want: "host h:443, host a.h:80, host xh:443"},
		{name: "an address of this network", own: `{"sandboxProject": {"hosts": ["*:443"]}, "servers": {}}`, project: run(`"sandbox": {"hosts": ["10.0.0.1:443", "LOCALHOST:443"]}`),
			want: "host 10.0.0.1:443, host localhost:443"},
		{name: "a port", project: run(`"sandbox": {"listen": [0]}`), want: "listen 0"},
		{name: "a socket", project: run(`"sandbox": {"sockets": ["/run/docker.sock"]}`), want: "socket /run/docker.sock"},
		{name: "without enforcement", project: run(`"sandbox": {"required": false}`), want: "a start without the sandbox"},
		{name: "the real home", project: run(`"sandbox": {"home": "real", "read": ["${workspaceFolder}", "~"]}`), want: "your home directory as HOME"},
		{name: "more memory", own: `{"sandboxProject": {"limits": {"memory": "64MiB"}}, "servers": {}}`, project: run(`"sandbox": {"limits": {"memory": "65MiB"}}`), want: "more memory"},
		{name: "no bound", own: `{"sandboxProject": {"limits": {"processes": 9}}, "servers": {}}`, project: run(`"sandbox": {}`), want: "more processes"},
		{name: "/proc", own: `{"sandboxProject": {"proc": false}, "servers": {}}`, project: run(`"sandbox": "strict"`), want: "/proc"},
		{name: "its own limit", project: `{"sandboxProject": "off", "servers": {"a": {"command": "x", "sandbox": "off"}}}`, want: "no sandbox"},
		{name: "a named file", project: run(`"sandbox": "off"`), path: "work/.indusvx/mcp.json", want: "no sandbox"},
		{name: "a named file, with the user's default", own: strict, project: run(`"args": []`), path: "work/.indusvx/mcp.json"},
		{name: "a file that was misspelt by the user", own: `{"sandboxProjekt": "strict", "servers": {}}`, project: run(`"sandbox": "strict"`), want: `unknown key "sandboxProjekt"`},
		{name: "a broken file of the user", own: `{"servers": {}`, project: run(`"args": []`), want: "is needed to know its sandbox"},
		{name: "the user's limit is wrong", own: `{"sandboxProject": {"hosts": ["h"]}, "servers": {}}`, project: run(`"sandbox": {}`), want: `"sandboxProject" cannot be used: hosts[0] has no port`},
		{name: "the user's limit twice", own: `{"sandboxProject": "strict", "sandboxProject": "off", "servers": {}}`, project: run(`"sandbox": "strict"`), want: "stands twice"},
		{name: "without a sandbox, by the user's default", own: strict, project: run(`"args": []`)},
		{name: "null, by the user's default", own: strict, project: run(`"sandbox": null`)},
		{name: "docker, by the user's default", own: strict, project: `{"servers": {"a": {"command": "docker"}}}`, want: "docker does its work outside of its own process"},
		{name: "the name of a confined server", own: `{"servers": {"a": {"command": "y", "sandbox": {"hosts": ["h:443"]}}}}`, project: run(`"args": []`),
			limit: config.Sandbox{Read: []string{"WORK"}}},
		{name: "a project that is the home", own: strict, project: run(`"sandbox": {"read": ["${workspaceFolder}"]}`), links: map[string]string{"home/.indusvx": "../work/.indusvx"}, path: "home",
			want: "read HOME"},
		{name: "an alias of the field", own: strict, project: run(`"Sandbox": "off"`), want: `unknown key "Sandbox"`},
		{name: "another program's file", own: strict, project: `{"servers": {"a": {"command": "x", "dev": {}}}}`, path: "work/.indusvx/mcp.json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			root := filepath.Dir(p.home)
			p.write(c.project)
			if c.own != "" {
				p.writeOwn(c.own)
			}
			for from, to := range c.links {
				if err := os.Symlink(to, filepath.Join(root, from)); err != nil {
					t.Fatal(err)
				}
			}
			if c.env != nil {
				p.env = c.env
			}
			var paths []string
			if c.path != "" {
				paths = []string{filepath.Join(root, c.path)}
			}
			row := p.trusted("a", paths...)
			names := strings.NewReplacer(p.home, "HOME", p.dir, "WORK")
			if c.want != "" {
				if row.State != mcpconfig.Skipped || !strings.Contains(names.Replace(row.Reason), c.want) {
					t.Errorf("%s, %s, %+v", row.State, names.Replace(row.Reason), row.Sandbox())
				}
				return
			}
			if c.limit.Read == nil {
				c.limit.Read = []string{"WORK"}
			}
			c.limit.Read[0] = p.dir
			if more := row.Sandbox().Beyond(&c.limit); row.State != mcpconfig.Active || more != nil {
				t.Errorf("%s, %s, beyond its limit: %q", row.State, row.Reason, more)
			}
			if want := filepath.Join(".local", "state", "indus", "box"); !strings.Contains(row.Sandbox().Home, want) {
				t.Errorf("its home is %s", row.Sandbox().Home)
			}
		})
	}
}

// A project's server does not get the home, and so the credentials, of another server with its name.
func TestHomesAreNotShared(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	p := newProject(t)
	const row = `{"servers": {"a": {"command": "x", "sandbox": "strict"}, "A": {"command": "x", "sandbox": "strict"}, "../a": {"command": "x", "sandbox": "strict"}}}`
	p.writeOwn(row)
	mkdir(t, p.dir)
	add := func(dir string) {
		p.dir = filepath.Join(filepath.Dir(p.home), dir)
		for _, id := range []string{"a", "A", "../a"} {
			home := p.trusted(id).Sandbox().Home
			if was := seen[home]; was != "" || filepath.Dir(filepath.Dir(home)) != mcpconfig.StateDir(p.options()) {
				t.Errorf("%s of %s has the home of %s: %s", id, dir, was, home)
			}
			seen[home] = id + " of " + dir
		}
	}
	add("work")
	for _, dir := range []string{"work", "other"} {
		p.dir = filepath.Join(filepath.Dir(p.home), dir)
		p.write(row)
		add(dir)
	}
}

// An approval covers a sandbox that is narrower than the approved one, and no other.
func TestAWiderSandboxAsksAgain(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.writeOwn(`{"servers": {}, "sandboxProject": {"base": "package", "read": ["${workspaceFolder}", "/usr"], "hosts": ["*.h:443"]}}`)
	state := func(box string) string {
		p.write(`{"servers": {"a": {"command": "x"` + box + `}}}`)
		row, _ := p.read().Find("a", nil)
		_, reason, _ := strings.Cut(row.Reason, "and its sandbox allows more than was approved at ")
		_, more, _ := strings.Cut(reason, " UTC: ")
		return strings.TrimSpace(string(row.State) + " " + strings.ReplaceAll(more, p.dir, "WORK"))
	}
	steps := []struct{ box, want string }{
		{``, "held"}, // and approved: without a sandbox, each is narrower
		{`, "sandbox": "package"`, "active"},
		{``, "active"},
		{`, "sandbox": {"hosts": ["a.h:443"]}`, "active"},
	}
	for i, s := range steps {
		if got := state(s.box); got != s.want {
			t.Errorf("%s: %s", s.box, got)
		}
		if i == 0 {
			p.approveAll()
		}
	}
	state(`, "sandbox": {"read": ["src"], "hosts": ["a.h:443"]}`)
	row, _ := p.read().Find("a", nil)
	p.approve(row)
	for _, s := range []struct{ box, want string }{
		{`, "sandbox": {"read": ["src"], "hosts": ["a.h:443"]}`, "active"},
		{`, "sandbox": {"hosts": ["a.h:443"], "read": ["src/a"], "proc": false}`, "active"},
		{`, "sandbox": "strict"`, "active"},
		{`, "sandbox": {"read": ["src", "."], "hosts": ["*.h:443"]}`, "held read WORK, host *.h:443"},
		{`, "sandbox": "package"`, "held base package"},
		{``, "held no sandbox"},
	} {
		if got := state(s.box); got != s.want {
			t.Errorf("%s: %s", s.box, got)
		}
	}
}

// The approval of a row without a sandbox is the same as before there were any.
func TestTheFingerprintHasNoSandbox(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write(`{"servers": {"a": {"command": "x", "args": ["-y", "b"], "env": {"T": "${TOKEN:-}"}, "sandbox": "strict"}, "b": {"command": "x", "args": ["-y", "b"], "env": {"T": "${TOKEN:-}"}}}}`)
	digest := func(texts ...string) string { return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q", texts))) }
	written, _ := json.Marshal(map[string]any{"env": map[string]string{"T": "${TOKEN:-}"}})
	pin := digest("", "", "", "", "", "", "x", p.dir, "-y", "b")
	want := digest("indus approval 3", p.dir, "stdio", string(written), pin, "T")
	for _, row := range p.read().Rows {
		if row.Approval != want {
			t.Errorf("%s: %s", row.Server.ID, cmp.Diff(want, row.Approval))
		}
	}
}
