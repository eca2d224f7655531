package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/indusagi/indus/internal/cli"
	"github.com/indusagi/indus/mcpconfig"
)

// Commands that edit at once take turns: each is done at its first try, and nothing of it
// is lost.
func TestCommandsEditAtOnce(t *testing.T) {
	t.Parallel()
	dir, state := t.TempDir(), t.TempDir()
	file := filepath.Join(dir, "servers.json")
	run := func(args ...string) {
		cmd := exec.Command("indus", args...)
		cmd.Dir = dir
		cmd.Env = append(cmd.Environ(), "HOME="+dir, "USERPROFILE="+dir, "XDG_CONFIG_HOME="+dir, "XDG_STATE_HOME="+state)
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%q: %v: %s", args, err, said)
		}
	}
	var all sync.WaitGroup
	for who := range 4 {
		all.Go(func() {
			for n := range 3 {
				id := fmt.Sprintf("s%d-%d", who, n)
				run("mcp", "add", id, "http://h/mcp", "--mcp", file)
				switch n {
				case 0:
					run("mcp", "remove", id, "--mcp", file)
				case 1:
					run("mcp", "disable", id, "--mcp", file)
				case 2:
					from := filepath.Join(dir, id+".json")
					if err := os.WriteFile(from, []byte(`{"servers": {"i-`+id+`": {"command": "x"}}}`), 0o600); err != nil {
						t.Error(err)
					}
					run("mcp", "import", from, "--write", "--mcp", file)
					run("mcp", "export", "--to", "codex", "--write", "--mcp", from)
				}
			}
		})
	}
	all.Wait()
	e, err := mcpconfig.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(e.IDs()); got != 12 || strings.Count(string(e.Text()), "false") != 4 {
		t.Errorf("there are %d servers: %s", got, e.Text())
	}
	theirs, err := mcpconfig.Import(filepath.Join(dir, ".codex", "config.toml"), "codex", &mcpconfig.Options{Dir: dir})
	if err != nil || len(theirs.Definitions) != 4 {
		t.Errorf("codex has %v, %v", theirs, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 6 { // with 4 that were imported, and .codex
		t.Errorf("there are %v, %v", entries, err)
	}
}

func TestHideRow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ row, want string }{
		{`{}`, `{}`},
		{`{"command":"x","args":["a","--b=c"],"cwd":"~/d"}`, `{"command":"x","args":["a","--b=c"],"cwd":"~/d"}`},
		{`{"env":{"A":"s","B":"","C":true,"D":{"s":"s"}}}`, `{"env":{"A":"<secret>","B":"","C":"<secret>","D":"<secret>"}}`},
		{`{"env":{"A":"${A}","B":"s${B}s","C":"${C:-s}","D":"${D:-${E:-s}}","F":"$${s}","G":"${s"}}`,
			`{"env":{"A":"${A}","B":"<secret>${B}<secret>","C":"${C:-<secret>}","D":"${D:-${E:-<secret>}}","F":"<secret>","G":"${s"}}`},
		{`{"env":{"A":"${cmd:pass show a:-b}","B":"${file:~/x}"}}`, `{"env":{"A":"${cmd:pass show a:-b}","B":"${file:~/x}"}}`},
		{`{"env":"s"}`, `{"env":"<secret>"}`},
		{`{"headers":{"Authorization":"Bearer s","B":"basic ${X}","C":"token"}}`,
			`{"headers":{"Authorization":"Bearer <secret>","B":"basic ${X}","C":"<secret>"}}`},
		{`{"url":"https://u:s@h/p?a=s&b=${B}&c#s"}`, `{"url":"https://<secret>@h/p?a=<secret>&b=${B}&c#<secret>"}`},
		{`{"url":"https://h/p?token&x="}`, `{"url":"https://h/p?token&x="}`},
		{`{"args":["--token","s3cret","--token=s3cret","TOKEN=s3cret","ghp_0123456789abcdefghij","-v"]}`,
			`{"args":["--token","<secret>","--token=<secret>","TOKEN=<secret>","<secret>","-v"]}`},
		{`{"args":["--token","${TOKEN}",5]}`, `{"args":["--token","${TOKEN}",5]}`},
		{`{"args":["https://u:s3cret@h/"]}`, `{"args":["https://u:<secret>@h/"]}`},
		{`{"env":{"B":"${cmd:echo {}; echo ${X}}s"}}`, `{"env":{"B":"${cmd:echo {}; echo ${X}}<secret>"}}`},
		{`{"oauth":{"client_secret":"s","list":[{"token":"s"},["sk-0123456789abcdef0"]],"n":9007199254740993}}`,
			`{"oauth":{"client_secret":"<secret>","list":[{"token":"<secret>"},["<secret>"]],"n":9007199254740993}}`},
	} {
		if got := cli.HideRow(tt.row); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.row, got, tt.want)
		}
	}
}

func TestPastedSecrets(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ row, want string }{
		{`{"env":{"GITHUB_TOKEN":"abcdef","api_key":"abcdef","DbPassword":"abcdef","X":"ghp_0123456789abcdefghij","URL":"pg://u:abcdef@h/d"}}`,
			"env GITHUB_TOKEN, env api_key, env DbPassword, env X, env URL"},
		{`{"env":{"TOKEN":"${TOKEN}","TOKEN_FILE":"/run/token","MAX_TOKENS":"100000","AUTH_MODE":"oauth2x","KEY":"short","LOG":"debug-all"}}`, ""},
		{`{"headers":{"Authorization":"Bearer abcdef","X-Api-Key":"abcdef","Accept":"text/plain"}}`, "header Authorization, header X-Api-Key"},
		{`{"headers":{"Authorization":"Bearer ${TOKEN}"}}`, ""},
		{`{"url":"https://h/mcp?api_key=abcdef"}`, "the URL"},
		{`{"url":"https://u:abcdef@h/mcp"}`, "the URL"},
		{`{"url":"https://h/mcp?api_key=${KEY}&page=second"}`, ""},
		{`{"args":["--api-key","abcdef"]}`, "an argument"},
		{`{"args":["-y","--tokenizer","--api-key","--verbose","/path/to/token"]}`, ""},
		{`{"args":"abcdef","env":5,"headers":[],"url":null}`, ""},
	} {
		if got := strings.Join(cli.Pasted(tt.row), ", "); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.row, got, tt.want)
		}
	}
}
