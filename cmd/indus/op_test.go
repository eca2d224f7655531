package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/interoptest"
	"github.com/indusagi/indus/toolbox"
)

// guarded starts a server that accepts only the bearer token "open-sesame".
func guarded(t *testing.T) (url string) {
	h := host.New(interoptest.Tools(), &host.Options{Authenticate: func(r *http.Request) (toolbox.Principal, error) {
		if r.Header.Get("Authorization") != "Bearer open-sesame" {
			return "", &interop.HTTPError{
				Status: http.StatusUnauthorized, Header: http.Header{"Www-Authenticate": {`Bearer realm="cave"`}},
			}
		}
		return "ali", nil
	}})
	t.Cleanup(h.Close)
	server := httptest.NewServer(h.Handler())
	t.Cleanup(server.Close)
	return server.URL
}

// TestOpTokens checks that the command reads the token only from the named source, and never prints it.
func TestOpTokens(t *testing.T) {
	t.Parallel()
	url := guarded(t)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("open-sesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		flags, env []string
		stdin      string
		code       int
	}{
		"no token":                         {nil, nil, "", 3},
		"a file":                           {[]string{"--token-file", file}, nil, "", 0},
		"stdin":                            {[]string{"--token-file", "-"}, nil, "open-sesame", 0},
		"a variable":                       {[]string{"--token-env", "CAVE"}, []string{"CAVE=open-sesame"}, "", 0},
		"another token":                    {[]string{"--token-env", "CAVE"}, []string{"CAVE=open-barley"}, "", 3},
		"a variable that nobody has named": {nil, []string{"TOKEN=open-sesame", "MCP_TOKEN=open-sesame", "AUTHORIZATION=Bearer open-sesame"}, "", 3},
	} {
		t.Run(name, func(t *testing.T) {
			for _, args := range [][]string{
				{"ls", url}, {"schema", url, "echo"}, {"call", url, "echo", "message=hi", "--json"},
			} {
				cmd := timedCommand(append(append([]string{"op"}, args...), tt.flags...)...)
				cmd.Env = append(cmd.Environ(), tt.env...)
				cmd.Stdin = strings.NewReader(tt.stdin)
				out, _ := cmd.CombinedOutput()
				if code := cmd.ProcessState.ExitCode(); code != tt.code || strings.Contains(string(out), "open-") {
					t.Errorf("%q: exit code %d, want %d: %s", args, code, tt.code, out)
				}
			}
		})
	}
}
