package mcpconfig_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig"
)

// A mistake in a command line is noted, and a command line without one is not.
func TestMistakesInACommandLine(t *testing.T) {
	t.Parallel()
	const (
		blank, spaces, shell = "is one argument with a blank in it", `"command" holds spaces`, "no shell replaces"
		stdin, terminal      = "connects no stdin", "wants a terminal"
		tab, backspace       = "holds a tab", "holds a backspace"
	)
	for row, want := range map[string]string{
		`"command": "npx", "args": ["-y @modelcontextprotocol/server-everything"]`:     "args[0] " + blank,
		`"command": "npx", "args": ["-y", "pkg", "--port 3000"]`:                       "args[2] " + blank,
		`"command": "npx", "args": ["@scope/server --stdio"]`:                          "args[0] " + blank,
		`"command": "server", "args": ["--api-key abc"]`:                               "args[0] " + blank,
		`"command": "server", "args": [1, "--port 3"]`:                                 "args[1] " + blank,
		`"command": "npx", "args": ["-y", "supergateway", "--stdio", "npx -y pkg"]`:    "",
		`"command": "sh", "args": ["-c", "exec server --stdio"]`:                       "",
		`"command": "node", "args": ["-e", "-x y"]`:                                    "",
		`"command": "node", "args": ["/my files/server.js", "--title=a b", "a b - c"]`: "",
		`"command": "python3 /x/srv.py", "args": ["a"]`:                                spaces,
		`"command": "npx -y x"`:                                                        spaces,
		`"command": "/my files/server", "args": ["a"]`:                                 "",
		`"command": "$HOME/bin/x"`:                                                     `"command": ` + shell + ` "$HOME"`,
		`"command": "node", "args": ["$HOME/bin/x.js"]`:                                "args[0]: " + shell,
		`"command": "node", "args": ["x.js", "$HOME"]`:                                 "args[1]: " + shell,
		`"command": "sh", "args": ["-c", "$HOME/bin/x"]`:                               "",
		`"command": "node", "args": ["x.js", "$${T}", "$", "$5", "$T", "a$b/"]`:        "",
		`"command": "node", "args": ["-y", "pkg"]`:                                     `node has no option "-y"`,
		`"command": "docker", "args": ["run", "--rm", "image"]`:                        stdin,
		`"command": "docker", "args": ["run", "--rm", "-e", "A=b", "image", "-i"]`:     stdin,
		`"command": "/usr/bin/podman", "args": ["run", "image"]`:                       stdin,
		`"command": "docker", "args": ["run", "-it", "--rm", "image"]`:                 terminal,
		`"command": "docker", "args": ["run", "-i", "--tty", "image"]`:                 terminal,
		`"command": "docker", "args": ["run", "-i", "--rm", "image", "-t", "x"]`:       "",
		`"command": "docker", "args": ["run", "--rm", "-e", "A", "-i", "image"]`:       "",
		`"command": "docker", "args": ["run", "--name=x", "-i", "image"]`:              "",
		`"command": "docker", "args": ["run", "--interactive", "image"]`:               "",
		`"command": "docker", "args": ["mcp", "gateway", "run"]`:                       "",
		`"command": "uvx", "args": ["mcp-server-git", "--repository", "c:\temp\bvb"]`:  "args[2] " + tab,
		`"command": "uvx", "args": ["--repository=C:\temp"]`:                           "args[0] " + tab,
		`"command": "uvx", "args": ["C:\\work\temp"]`:                                  "args[0] " + tab,
		`"command": "uvx", "args": ["..\test"]`:                                        "args[0] " + tab,
		`"command": "uvx", "args": ["${userHome}\bin"]`:                                "args[0] " + backspace,
		`"command": "C:\new\tools\run.exe"`:                                            "holds a line feed",
		`"command": "x", "cwd": "C:\temp"`:                                             tab,
		`"command": "x", "env": {"ROOT": "C:\fonts"}`:                                  "holds a form feed",
		`"command": "x", "env": {"ROOT": "C:\readme"}`:                                 "holds a carriage return",
		`"command": "x", "env": {"KEY": "-----BEGIN X-----\nabc\n-----END X-----\n"}`:  "",
		`"command": "sh", "args": ["-c", "if true; then\n\texec server\nfi"]`:          "",
		`"command": "python3", "args": ["-c", "import x\nx.run()"]`:                    "",
		`"command": "sh", "args": ["-c", "echo note:\n\texec server"]`:                 "",
		`"command": "uvx", "args": ["C:\\temp\\new", "C:/temp"]`:                       "",
		`"url": "https://h/\tmcp"`:                                                     tab,
		`"command": "npx", "args": ["--header", "Authorization: Bearer a b"]`:          "",
	} {
		c, err := readText(t, `{"servers": {"a": {`+row+`}}}`)
		var got []string
		for _, n := range c.Notes {
			if !strings.Contains(n.Reason, "relative path") && !strings.Contains(n.Reason, "read as text") && !strings.Contains(n.Reason, "valid URL") {
				got = append(got, n.Reason)
			}
		}
		all := strings.Join(got, "; ")
		if err != nil || (want == "") != (all == "") || !strings.Contains(all, want) || len(got) > 1 {
			t.Errorf("%s: %q, want %q, %v", row, got, want, err)
		}
	}
}

// A variable that is not set has the value that the row's own "env" gives to the server.
func TestAVariableOfTheRowsOwnEnv(t *testing.T) {
	t.Parallel()
	env := lookup(map[string]string{"SET": "outside", "EMPTY": ""})
	for row, want := range map[string]string{
		`"args": ["Authorization:${AUTH}"], "env": {"AUTH": "Bearer abc"}`:  "Authorization:Bearer abc",
		`"args": ["${env:AUTH}"], "env": {"AUTH": "x"}`:                     "x",
		`"env": {"AUTH": "x"}, "args": ["${AUTH}"]`:                         "x",
		`"args": ["${A}-${B}"], "env": {"A": "${SET}", "B": "${UNSET:-d}"}`: "outside-d",
		`"args": ["${PORT}"], "env": {"PORT": 3000}`:                        "3000",
		`"args": ["${A}"], "env": {"A": "1", "A": "2"}`:                     "2",
		`"args": ["${A}"], "env": {"A": "$${B}"}`:                           "${B}",
		`"args": ["${SET}"], "env": {"SET": "inside"}`:                      "outside",
		`"args": ["${EMPTY}"], "env": {"EMPTY": "inside"}`:                  "",
		`"args": ["${A:-d}"], "env": {"A": "inside"}`:                       "d",
		`"args": ["$${A}"], "env": {"A": "x"}`:                              "${A}",
		`"args": ["${A}"], "env": {"A": "${A}"}`:                            "!args[0]: the variable A is not set",
		`"args": ["${A}"], "env": {"A": "${B}", "B": "${A}"}`:               "!args[0]: the variable B is not set",
		`"args": ["${A}"], "env": {"A": null}`:                              "!args[0]: the variable A is not set",
		`"args": ["x"], "env": {"A": "${B}", "B": "x"}`:                     `!env "A": the variable B is not set`,
	} {
		path := tempDir(t) + "/mcp.json"
		write(t, path, `{"servers": {"a": {"command": "x", `+row+`}}}`)
		c, err := mcpconfig.Read(t.Context(), []string{path}, &mcpconfig.Options{Home: filepath.Dir(path), Env: env})
		if err != nil {
			t.Fatal(err)
		}
		got := "!" + c.Rows[0].Reason
		if s, ok := c.Rows[0].Server.Transport.(config.Stdio); ok {
			got = s.Args[0]
		}
		if got != want {
			t.Errorf("%s: %q, want %q", row, got, want)
		}
	}
	c, err := readText(t, `{"servers": {"a": {"url": "https://h/", "headers": {"A": "${B}"}, "env": {"B": "x"}}}}`)
	if err != nil || !strings.Contains(c.Rows[0].Hint, `it is in "env", which this value does not use`) {
		t.Error(c.Rows, err)
	}
}
