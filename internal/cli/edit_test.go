package cli_test

import (
	"errors"
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

// Of two who add and remove at once nobody's change is lost: it is made, or the
// command says that the file has changed, and to try again.
func TestCommandsEditAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "servers.json")
	run := func(args ...string) bool {
		cmd := exec.Command("indus", append(args, "--mcp", file)...)
		cmd.Dir = dir
		cmd.Env = append(cmd.Environ(), "HOME="+dir, "USERPROFILE="+dir, "XDG_CONFIG_HOME="+dir, "XDG_STATE_HOME="+dir)
		for range 1000 {
			again := exec.Cmd{Path: cmd.Path, Args: cmd.Args, Dir: cmd.Dir, Env: cmd.Env}
			said, err := again.CombinedOutput()
			if err == nil {
				return true
			}
			var exit *exec.ExitError
			if want := "indus: " + file + ": the file has changed since it was read; try again\n"; !errors.As(err, &exit) ||
				exit.ExitCode() != 1 || string(said) != want {
				t.Errorf("%q: %v: %s", args, err, said)
				return false
			}
		}
		t.Errorf("%q never came through", args)
		return false
	}
	var all sync.WaitGroup
	for who := range 2 {
		all.Go(func() {
			for n := range 8 {
				id := fmt.Sprintf("s%d-%d", who, n)
				if !run("mcp", "add", id, "http://h/mcp") || n%2 > 0 && !run("mcp", "remove", id) {
					return
				}
			}
		})
	}
	all.Wait()
	e, err := mcpconfig.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(e.IDs()); got != 8 {
		t.Errorf("there are %d servers: %v", got, e.IDs())
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
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
