package mcpconfig_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig"
)

// mine writes the user's own file, and creates the project's directory.
func (p *project) mine(text string) {
	mkdir(p.t, p.dir)
	write(p.t, filepath.Join(p.home, ".config", "indusvx", "mcp.json"), text)
}

func (p *project) resolve(c *mcpconfig.Config, r mcpconfig.Row) mcpconfig.Row {
	p.t.Helper()
	r, err := c.Resolve(p.t.Context(), r)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// A row of the user waits in each project from which its start would take something: code, a directory to start in, or
// files.
func TestAUsersRowThatTakesSomethingOfAProjectWaits(t *testing.T) {
	t.Parallel()
	const free, waits = mcpconfig.Active, mcpconfig.Held
	for _, tt := range []struct {
		row  string
		want mcpconfig.State
	}{
		{`{"command": "npx", "args": ["-y", "pkg", "${workspaceFolder}"]}`, free},
		{`{"command": "npx", "args": ["-y", "pkg", "--root", "${workspaceFolder}/docs"]}`, free},
		{`{"command": "uvx", "args": ["--from", "git", "pkg", "--root=${workspaceFolder}"]}`, free},
		{`{"command": "uvx", "args": ["--python", "3.12", "pkg", "${workspaceFolder}"]}`, free},
		{`{"command": "python3", "args": ["-m", "server", "${workspaceFolder}"]}`, free},
		{`{"command": "node", "args": ["/opt/server.js", "${workspaceFolder}"]}`, free},
		{`{"command": "go", "args": ["run", "example.com/x@latest", "${workspaceFolder}"]}`, free},
		{`{"command": "sh", "args": ["-c", "exec server \"$0\"", "${workspaceFolder}"]}`, free},
		{`{"command": "docker", "args": ["run", "-v", "${workspaceFolder}:/w", "image", "/w"]}`, free},
		{`{"command": "server", "args": ["--root", "${workspaceFolder}/data.db"]}`, free},
		{`{"command": "server", "env": {"DATA_PATH": "${workspaceFolder}/data"}}`, free},
		{`{"command": "npx", "args": ["pkg", "$WORK-other"]}`, free},
		{`{"command": "npx", "cwd": "${userHome}"}`, free},
		{`{"command": "timeout", "args": ["60", "npx", "-y", "pkg", "${workspaceFolder}"]}`, free},

		{`{"command": "npx", "args": ["-y", "pkg", "--title", "work in ${workspaceFolder}"]}`, free},
		{`{"command": "npx", "args": ["-y", "supergateway", "--stdio", "npx pkg"]}`, free},

		{`{"command": "server", "cwd": "${workspaceFolder}"}`, waits},
		{`{"command": "server", "cwd": "${workspaceFolder}/sub"}`, waits},
		{`{"command": "server", "cwd": "${workspaceFolder}/.."}`, waits},
		{`{"command": "server", "cwd": "$WORK"}`, waits},
		{`{"command": "server", "cwd": "$LINK"}`, waits},
		{`{"command": "server", "cwd": "$LINK/sub"}`, waits},
		{`{"command": "server", "cwd": "${PWD}"}`, waits},
		{`{"command": "${workspaceFolder}/server"}`, waits},
		{`{"command": "$LINK/run.sh"}`, free},
		{`{"command": "node", "args": ["${workspaceFolder}/server.js"]}`, waits},
		{`{"command": "node", "args": ["$LINK/server.js"]}`, free},
		{`{"command": "node", "args": ["--require", "${workspaceFolder}/x.js", "server.js"]}`, waits},
		{`{"command": "node", "args": ["--import=${workspaceFolder}/x.js", "server.js"]}`, waits},
		{`{"command": "/usr/local/bin/node.exe", "args": ["${workspaceFolder}/server.js"]}`, waits},
		{`{"command": "NPX.CMD", "args": ["--prefix", "${workspaceFolder}", "pkg"]}`, waits},
		{`{"command": "python3.12", "args": ["-u", "${workspaceFolder}"]}`, waits},
		{`{"command": "env", "args": ["-C", "${workspaceFolder}", "server"]}`, waits},
		{`{"command": "env", "args": ["A=b", "node", "${workspaceFolder}/server.js"]}`, waits},
		{`{"command": "nice", "args": ["-n", "5", "node", "${workspaceFolder}/server.js"]}`, waits},
		{`{"command": "sh", "args": ["-c", "cd '${workspaceFolder}' && npx server"]}`, waits},
		{`{"command": "sh", "args": ["${workspaceFolder}/run.sh"]}`, waits},
		{`{"command": "uv", "args": ["run", "--directory", "${workspaceFolder}", "server"]}`, waits},
		{`{"command": "uvx", "args": ["--with", "x", "--from", "${workspaceFolder}", "server"]}`, waits},
		{`{"command": "npm", "args": ["run", "serve", "--prefix", "${workspaceFolder}"]}`, waits},
		{`{"command": "timeout", "args": ["60", "${workspaceFolder}/run.sh"]}`, waits},
		{`{"command": "uvx", "args": ["--from", "mcp", "mcp", "run", "${workspaceFolder}/server.py"]}`, waits},
		{`{"command": "docker", "args": ["run", "--env-file", "${workspaceFolder}/.env", "image"]}`, waits},
		{`{"command": "npx", "args": ["-y", "supergateway", "--stdio", "node ${workspaceFolder}/server.js"]}`, waits},
		{`{"command": "supergateway", "args": ["--stdio", "/usr/bin/npx --prefix ${workspaceFolder} pkg"]}`, waits},
		{`{"command": "flock", "args": ["lock", "${workspaceFolder}/run.sh"]}`, waits},
		{`{"command": "conda", "args": ["run", "--cwd", "${workspaceFolder}", "server"]}`, waits},
		{`{"command": "make", "args": ["serve", "-C", "${workspaceFolder}"]}`, waits},
		{`{"command": "docker", "args": ["compose", "-f", "${workspaceFolder}/compose.yaml", "run", "server"]}`, waits},
		{`{"command": "direnv", "args": ["exec", "${workspaceFolder}", "server"]}`, waits},
		{`{"command": "server", "env": {"NODE_OPTIONS": "--require ${workspaceFolder}/x.js"}}`, waits},
		{`{"command": "server", "env": {"PATH": "${workspaceFolder}/bin:/usr/bin"}}`, waits},
		{`{"command": "server", "envFile": "${workspaceFolder}/.env"}`, waits},
		{`{"command": "server", "envFile": "$LINK/.env"}`, free},
		{`{"command": "server", "env": {"T": "${file:${workspaceFolder}/.env}"}}`, waits},
		{`{"url": "https://h/${workspaceFolderBasename}"}`, free},
		{`{"url": "${file:${workspaceFolder}/.env}"}`, waits},
		{`{"url": "https://h/", "tls": {"ca": "${workspaceFolder}/.env"}}`, waits},
	} {
		p := newProject(t)
		p.env["PWD"] = p.dir
		link := p.dir + "-link"
		row := strings.NewReplacer("$WORK", p.dir, "$LINK", link).Replace(tt.row)
		p.mine(`{"servers": {"a": ` + row + `}}`)
		write(t, filepath.Join(p.dir, ".env"), "https://h/\n")
		mkdir(t, filepath.Join(p.dir, "sub"))
		if err := os.Symlink(p.dir, link); err != nil {
			t.Skip(err)
		}
		if strings.Contains(row, "envFile") {
			write(t, filepath.Join(p.dir, ".env"), "A=b\n")
		}
		c := p.read()
		if got := c.Rows[0].State; got != tt.want {
			t.Errorf("%s: %s, want %s; %v", tt.row, got, tt.want, c.Notes)
			continue
		}
		if tt.want == free {
			continue
		}
		if reason := c.Rows[0].Reason; !strings.Contains(reason, p.dir) || !strings.HasSuffix(reason, ", and not approved yet for this project") {
			t.Errorf("%s: %s", tt.row, reason)
		}
		if trusting := p.options(); true {
			trusting.Trust = true
			if c, err := mcpconfig.Read(t.Context(), nil, trusting); err != nil || c.Rows[0].State != free {
				t.Errorf("%s with Trust: %v %v", tt.row, c.Notes, err)
			}
		}
		p.approve(c.Rows...)
		if got := states(p.read()); got != "a active" {
			t.Errorf("%s, approved: %s", tt.row, got)
		}
		other := &project{t: t, dir: p.dir + "-other", home: p.home, env: map[string]string{"PWD": p.dir + "-other"}}
		mkdir(t, other.dir)
		write(t, filepath.Join(other.dir, ".env"), "A=b\n")
		if got := states(other.read()); strings.Contains(tt.row, "orkspaceFolder") && got != "a held" {
			t.Errorf("%s in another project: %s", tt.row, got)
		}
	}
}

// A path that the user wrote out means the same wherever indus runs, so its row starts everywhere. A path that depends on
// the working directory waits in the project to which it leads, and so does a launcher that starts in a project. A row of
// the project's own file waits in any case.
func TestARowStartsByWhoWroteItAndHowItsPathIsWritten(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	link, elsewhere := p.dir+"-link", p.dir+"-other"
	mkdir(t, filepath.Join(p.dir, ".git"))
	for _, dir := range []string{p.dir, elsewhere} {
		mkdir(t, filepath.Join(dir, "sub", "deep"))
		write(t, filepath.Join(dir, "sub", "f"), "A=b\n")
	}
	if err := os.Symlink(p.dir, link); err != nil {
		t.Skip(err)
	}
	mkdir(t, filepath.Join(p.home, "place"))
	// written is how the row names PROJECT/sub. wherever: it does so independently of where indus runs.
	written := map[string]struct {
		path     string
		wherever bool
	}{
		"literal": {p.dir + "/sub", true}, "by a link": {link + "/sub", true}, "with dots": {p.dir + "/sub/../sub", true},
		"~": {"~/../work/sub", true}, "userHome": {"${userHome}/../work/sub", true}, "HOME": {"${HOME}/../work/sub", true},
		"a default": {"${UNSET:-" + p.dir + "}/sub", true}, "escaped": {p.dir + "${/}sub", true},
		"workspaceFolder": {"${workspaceFolder}/sub", false}, "PWD": {"${PWD}/sub", false},
		"a variable": {"${LEADS}/sub", false}, "a part": {filepath.Dir(p.dir) + "/${NAME}/sub", false},
		"its name": {filepath.Dir(p.dir) + "/${workspaceFolderBasename}/sub", false},
	}
	// uses is what the row does with the path. found: what it runs is found by the directory, however that is written.
	uses := map[string]struct {
		row   string
		found bool
	}{
		"command": {`"command": "$P/run"`, false}, "script": {`"command": "python3", "args": ["$P/server.py"]`, false},
		"directory": {`"command": "uv", "args": ["--directory", "$P", "run", "server.py"]`, false},
		"shell":     {`"command": "sh", "args": ["-c", "cd '$P' && exec server"]`, false},
		"option":    {`"command": "node", "args": ["--import=$P/x.js", "/opt/x.js"]`, false},
		"cwd":       {`"command": "/opt/server", "cwd": "$P"`, false}, "both": {`"command": "$P/run", "cwd": "$P"`, false},
		"launcher there": {`"command": "npx", "args": ["pkg"], "cwd": "$P"`, true},
		"whole launcher": {`"command": "/usr/bin/python3", "args": ["-m", "server"], "cwd": "$P"`, true},
		"compose":        {`"command": "/usr/bin/docker", "args": ["compose", "up"], "cwd": "$P"`, true},
		"by its name":    {`"command": "server", "cwd": "$P"`, true},
		"relative":       {`"command": "./run", "cwd": "$P"`, true},
		"variable":       {`"command": "python3", "args": ["-m", "server"], "env": {"PYTHONPATH": "$P"}`, true},
		"PATH":           {`"command": "server", "env": {"PATH": "$P:/usr/bin"}`, true},
		"envFile":        {`"command": "server", "envFile": "$P/f"`, false},
		"file":           {`"command": "server", "env": {"A": "${file:$P/f}"}`, false},
		"authorities":    {`"url": "https://h/", "tls": {"ca": "$P/f"}`, false},
	}
	authors := map[string]func(text string) []string{
		"the user": func(text string) []string { p.mine(text); return nil },
		"a named file": func(text string) []string {
			path := filepath.Join(p.home, "place", "named.json")
			write(t, path, text)
			return []string{path}
		},
	}
	for author, put := range authors {
		rows := map[string]string{}
		for how, form := range written {
			for use, u := range uses {
				rows[how+"/"+use] = "{" + strings.ReplaceAll(u.row, "$P", form.path) + "}"
			}
		}
		var text []string
		for id, row := range rows {
			text = append(text, fmt.Sprintf("%q: %s", id, row))
		}
		named := put(`{"servers": {` + strings.Join(text, ",\n") + `}}`)
		for stand, inside := range map[string]bool{
			p.dir: true, filepath.Join(p.dir, "sub", "deep"): true, elsewhere: false, p.home: false,
		} {
			env := map[string]string{"PWD": stand, "HOME": p.home, "LEADS": p.dir, "NAME": "work"}
			o := &mcpconfig.Options{Dir: stand, Home: p.home, Env: lookup(env)}
			c, err := mcpconfig.Read(t.Context(), named, o)
			if err != nil || len(c.Rows) != len(rows) {
				t.Fatal(err, len(c.Rows))
			}
			for _, r := range c.Rows {
				how, use, _ := strings.Cut(r.Server.ID, "/")
				leads := inside
				switch { // where the path is another one, by where indus runs
				case how == "workspaceFolder" && stand == p.home:
					continue // there is no project
				case how == "its name" && stand != p.dir:
					continue
				case how == "workspaceFolder" || how == "PWD":
					leads = stand != p.home
				}
				if (use == "envFile" || use == "file") && how == "PWD" && stand != p.dir {
					continue // there is no such file
				}
				if how == "~" && (use == "variable" || use == "PATH") {
					continue // these are no paths with a home
				}
				want := mcpconfig.Active
				if leads && (uses[use].found || !written[how].wherever) {
					want = mcpconfig.Held
				}
				if r.State != want {
					t.Errorf("%s, in %s: %s %s: %s, want %s: %s", author, stand, r.Server.ID, rows[r.Server.ID], r.State, want, r.Reason)
				}
				if want == mcpconfig.Held && !strings.Contains(r.Reason, "the project that you are in (") {
					t.Errorf("%s: %s", r.Server.ID, r.Reason)
				}
			}
		}
	}
	p.mine("{}")
	p.write(`{"servers": {"literal": {"command": "/opt/server"}, "there": {"command": "` + p.dir + `/run"}}}`)
	if got := states(p.read()); got != "literal held\nthere held" {
		t.Errorf("of the project's own file: %s", got)
	}
	if c, err := mcpconfig.Read(t.Context(), []string{p.file()}, p.options()); err != nil || states(c) != "literal active\nthere active" {
		t.Errorf("of the project's own file, named: %v %v", c, err)
	}
}

// A row that inherits the environment also inherits variables by which programs find code. direnv and npm run set such
// variables.
func TestAnInheritedVariableThatLeadsIntoAProjectWaits(t *testing.T) {
	p := newProject(t)
	p.mine(`{"servers": {"a": {"command": "node", "inheritEnv": true}, "b": {"command": "node"},
		"c": {"command": "node", "inheritEnv": true, "env": {"NODE_OPTIONS": ""}}}}`)
	t.Setenv("DATA", p.dir)
	t.Setenv("PATH", filepath.Join(p.dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	if got := states(p.read()); got != "a active\nb active\nc active" {
		t.Error(got)
	}
	t.Setenv("NODE_OPTIONS", "--require "+filepath.Join(p.dir, "x.js"))
	c := p.read()
	if got := states(c); got != "a held\nb active\nc active" {
		t.Fatalf("%s; %v", got, c.Notes)
	}
	p.approve(c.Held()...)
	if got := states(p.read()); got != "a active\nb active\nc active" {
		t.Error(got)
	}
}

// The project is the whole clone, even if its root is above the working directory. The home directory is not a project.
func TestAProjectReachesToTheRootOfItsRepository(t *testing.T) {
	p := newProject(t)
	p.mine(`{"servers": {"a": {"command": "x", "cwd": "` + filepath.ToSlash(p.dir) + `"}}}`)
	mkdir(t, filepath.Join(p.dir, ".git"))
	mkdir(t, filepath.Join(p.dir, "deep", "sub", ".git"))
	mkdir(t, filepath.Join(p.home, ".git"))
	sub := &project{t: t, dir: filepath.Join(p.dir, "deep", "sub"), home: p.home}
	if got := states(sub.read()); got != "a held" {
		t.Errorf("from below: %s", got)
	}
	mkdir(t, filepath.Join(p.home, "notes"))
	notes := &project{t: t, dir: filepath.Join(p.home, "notes"), home: p.home}
	if got := states(notes.read()); got != "a active" {
		t.Errorf("from elsewhere: %s", got)
	}
	p.mine(`{"servers": {"a": {"command": "x", "cwd": "` + filepath.ToSlash(p.home) + `"}}}`)
	if got := states(notes.read()); got != "a active" {
		t.Errorf("at home: %s", got)
	}
}

// A named file is approved, but its approval does not cover parts of a project to which it does not belong.
func TestANamedFileOutsideTakesNothingOfAProject(t *testing.T) {
	p := newProject(t)
	mkdir(t, p.dir)
	const text = `{"servers": {"a": {"command": "npx", "cwd": "${workspaceFolder}"}}}`
	outside, inside := filepath.Join(p.home, "all.json"), filepath.Join(p.dir, "all.json")
	write(t, outside, text)
	write(t, inside, text)
	for path, want := range map[string]string{outside: "a held", inside: "a active"} {
		c, err := mcpconfig.Read(t.Context(), []string{path}, p.options())
		if err != nil || states(c) != want {
			t.Errorf("%s: %v, %v", path, c, err)
			continue
		}
		if want == "a held" {
			p.approve(c.Rows...)
			if c, err := mcpconfig.Read(t.Context(), []string{path}, p.options()); err != nil || states(c) != "a active" {
				t.Errorf("%s, approved: %v, %v", path, c.Notes, err)
			}
		}
	}
}

// A row does not start if a fetched value leads into a project.
func TestAFetchedDirectoryDoesNotLeadIntoAProject(t *testing.T) {
	p := newProject(t)
	p.mine(`{"servers": {"cmd": {"command": "x", "cwd": "${cmd:cat where}"}, "file": {"command": "${file:where}/run"}}}`)
	write(t, filepath.Join(p.home, ".config", "indusvx", "where"), p.dir)
	c := p.read()
	if got := states(c); got != "cmd skipped\nfile skipped" {
		t.Errorf("%s; %v", got, c.Notes)
	}
}

// Files of the project that a row names are approved by content, at every place where a row can name them.
func TestAnApprovalHoldsOnToFilesOfTheProject(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]string{
		"envFile":        `{"command": "x", "envFile": "f"}`,
		"env":            `{"command": "x", "env": {"A": "${file:f}"}}`,
		"an argument":    `{"command": "x", "args": ["${file:f}"]}`,
		"the command":    `{"command": "${file:f}"}`,
		"cwd":            `{"command": "x", "cwd": "${file:f}"}`,
		"url":            `{"url": "https://h/${file:f}"}`,
		"a header":       `{"url": "https://h/", "headers": {"A": "${file:f}"}}`,
		"a secret":       `{"url": "https://h/", "oauth": {"clientId": "c", "clientSecret": "${file:f}"}}`,
		"an authority":   `{"url": "https://h/", "tls": {"ca": "f"}}`,
		"a certificate":  `{"url": "https://h/", "tls": {"cert": "f", "key": "g"}}`,
		"its key":        `{"url": "https://h/", "tls": {"cert": "g", "key": "f"}}`,
		"a whole path":   `{"command": "x", "envFile": "${workspaceFolder}/f"}`,
		"by its way out": `{"command": "x", "envFile": "../work/f"}`,
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			p.write(`{"servers": {"a": ` + row + `}}`)
			file := filepath.Join(p.dir, "f")
			write(t, file, "A=1\n")
			write(t, filepath.Join(p.dir, "g"), "B=1\n")
			c := p.read()
			p.approve(c.Held()...)
			shown := false
			for _, f := range c.Rows[0].Files {
				shown = shown || f.Path == file && (f.Text == "A=1\n" || strings.Contains(row, "tls"))
			}
			if !shown {
				t.Errorf("not shown: %v", c.Rows[0].Files)
			}
			if c = p.read(); len(c.Servers()) != 1 {
				t.Fatal(c.Notes)
			}
			write(t, file, "A=2\n")
			c = p.read()
			if got := states(c); got != "a held" || !strings.Contains(c.Rows[0].Reason, "changed since it was approved") {
				t.Fatalf("changed: %s, %v", got, c.Notes)
			}
			found := false
			for _, w := range c.Watched {
				found = found || w == file
			}
			if !found {
				t.Errorf("watched while it waits: %v", c.Watched)
			}
			write(t, file, "A=1\n")
			if got := states(p.read()); got != "a active" {
				t.Errorf("changed back: %s", got)
			}
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			if got := states(p.read()); got != "a held" {
				t.Errorf("gone: %s", got)
			}
		})
	}
}

func TestAFileThatAppearsLaterAsksAgain(t *testing.T) {
	p := newProject(t)
	p.write(`{"servers": {"a": {"command": "x", "envFile": ".env"}}}`)
	p.approve(p.read().Held()...)
	if got := states(p.read()); got != "a skipped" { // there is no file, as before
		t.Error(got)
	}
	write(t, filepath.Join(p.dir, ".env"), "NODE_OPTIONS=--require ./evil.js\n")
	if got := states(p.read()); got != "a held" {
		t.Error(got)
	}
}

// An approval of a project's row covers its resolved values: ${cmd:…} and ${file:…} in url, command, arguments and
// directory. Approving resolves them, and another value needs a new approval.
func TestAnApprovalPinsWhatACommandGives(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]string{
		"url":               `{"url": "https://${cmd:echo run >> ran; cat ../f}/mcp"}`,
		"command":           `{"command": "${cmd:echo run >> ran; cat ../f}"}`,
		"an argument":       `{"command": "sh", "args": ["-c", "${cmd:echo run >> ran; cat ../f}"]}`,
		"cwd":               `{"command": "x", "cwd": "/${cmd:echo run >> ran; cat ../f}"}`,
		"a file elsewhere":  `{"url": "https://${file:../f}/mcp"}`,
		"an issuer":         `{"url": "https://h/", "oauth": {"clientId": "c", "issuer": "https://${cmd:echo run >> ran; cat ../f}"}}`,
		"file as a command": `{"command": "${file:../f}"}`,
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			p.write(`{"servers": {"a": ` + row + `}}`)
			file, ran := filepath.Join(filepath.Dir(p.dir), "f"), filepath.Join(p.dir, "ran")
			write(t, file, "one")
			c := p.read()
			if err := mcpconfig.Approve(p.options(), c.Held()...); err == nil || !strings.Contains(err.Error(), "is not resolved") {
				t.Fatal(err)
			}
			if _, err := os.Stat(ran); err == nil {
				t.Fatal("a command of a row that waits ran")
			}
			p.approve(p.resolve(c, c.Held()[0]))
			if c = p.read(); len(c.Servers()) != 1 {
				t.Fatal(c.Notes)
			}
			write(t, file, "two")
			c = p.read()
			if got := states(c); got != "a held" || !strings.Contains(c.Rows[0].Reason, "changed since it was approved") {
				t.Fatalf("%s, %v", got, c.Notes)
			}
			p.approve(p.resolve(c, c.Held()[0]))
			if got := states(p.read()); got != "a active" {
				t.Error(got)
			}
		})
	}
	// In env and headers a value may change, because it belongs to the user, as a variable does.
	p := newProject(t)
	p.write(`{"servers": {"a": {"command": "x", "env": {"A": "${cmd:cat ../f}", "B": "${file:../f}"}}}}`)
	for _, text := range []string{"one", "two"} {
		write(t, filepath.Join(filepath.Dir(p.dir), "f"), text)
		if c := p.read(); text == "one" {
			p.approve(c.Held()...)
		} else if got := states(c); got != "a active" {
			t.Error(got)
		}
	}
}

// The shown content is approved, even if the file has changed in between.
func TestAnApprovalIsForWhatWasShown(t *testing.T) {
	p := newProject(t)
	p.write(`{"servers": {"a": {"command": "x", "envFile": ".env"}}}`)
	write(t, filepath.Join(p.dir, ".env"), "A=1\n")
	shown := p.read()
	write(t, filepath.Join(p.dir, ".env"), "A=2\n")
	p.approve(shown.Held()...)
	if got := states(p.read()); got != "a held" {
		t.Error(got)
	}
}

// Rows that do not belong to the project do not look for programs in its directories.
func TestAUsersRowSearchesNoDirectoryOfAProject(t *testing.T) {
	p := newProject(t)
	mkdir(t, filepath.Join(p.dir, ".venv", "bin"))
	link := filepath.Join(filepath.Dir(p.dir), "link")
	if err := os.Symlink(filepath.Join(p.dir, ".venv"), link); err != nil {
		t.Skip(err)
	}
	list := strings.Join([]string{filepath.Join(p.dir, ".venv", "bin"), filepath.Join(link, "bin"), "bin", "/usr/bin"}, string(os.PathListSeparator))
	p.env["PATH"] = list
	t.Setenv("PATH", list)
	p.mine(`{"servers": {"mine": {"command": "x", "env": {"PATH": "/opt:${PATH}"}}}}`)
	p.write(`{"servers": {"theirs": {"command": "x", "env": {"PATH": "/opt:${PATH}"}}}}`)
	p.approve(p.read().Held()...)
	c := p.read()
	if got := states(c); got != "theirs active\nmine active" {
		t.Fatal(got, c.Notes)
	}
	for i, want := range []struct{ path, env string }{{"", "/opt:" + list}, {"/usr/bin", "/opt:/usr/bin"}} {
		s := c.Servers()[i].Transport.(config.Stdio)
		if s.Path != want.path || s.Env[0].Value.Reveal() != want.env {
			t.Errorf("%q and %q, want %+v", s.Path, s.Env[0].Value.Reveal(), want)
		}
	}
	if got := c.Avoided; len(got) != 2 {
		t.Errorf("%v", got)
	}
	t.Setenv("PATH", "/usr/bin")
	if s := p.read().Servers()[1].Transport.(config.Stdio); s.Path != "" {
		t.Errorf("%q, where nothing is to be left out", s.Path)
	}
}
