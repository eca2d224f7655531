package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/testkit/fixture"
)

// runDoctor returns the doctor's output for one server, and the exit code.
func runDoctor(t *testing.T, row string, flags ...string) (output string, code int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "servers.json")
	if err := os.WriteFile(file, []byte(`{"servers":{"one":`+row+`}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code = command.Run(t.Context(), append([]string{"mcp", "doctor", "--mcp", file}, flags...),
		show.New(strings.NewReader(""), &out, &errs), tree)
	return out.String() + errs.String(), code
}

// useHomeDir gives the test a separate home. It builds the fixture first, because the fixture is cached in the real
// home.
func useHomeDir(t *testing.T) {
	fixture.Build(t)
	home := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"} {
		t.Setenv(name, home)
	}
}

// TestTheDoctorKnowsWhatIsWrongWithTLS checks problems of TLS, and answers that do not come from an MCP server.
func TestTheDoctorKnowsWhatIsWrongWithTLS(t *testing.T) {
	useHomeDir(t)
	answer := func(status int, kind, location string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			if location != "" {
				w.Header().Set("Location", location)
			}
			w.WriteHeader(status)
			fmt.Fprint(w, "<html>hello</html>")
		})
	}
	plain := httptest.NewServer(answer(200, "text/html", ""))
	defer plain.Close()
	secure := httptest.NewUnstartedServer(answer(200, "text/html", ""))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // it logs each client that disconnects
	secure.StartTLS()
	defer secure.Close()
	moved := httptest.NewServer(answer(308, "text/plain", "https://elsewhere.example/mcp"))
	defer moved.Close()
	hangUp := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	}))
	defer hangUp.Close()
	for _, c := range []struct{ name, url, step, try string }{
		{"unknown authority", secure.URL, "tls", "an unknown authority signed the certificate: "},
		{"plain HTTP where TLS is expected", strings.Replace(plain.URL, "http:", "https:", 1), "tls", "the server does not use TLS at this address: replace https:// with http://"},
		{"TLS where plain HTTP is expected", strings.Replace(secure.URL, "https:", "http:", 1), "handshake", "the server expects TLS: replace http:// with https://"},
		{"a web page", plain.URL + "/docs", "handshake", "there is no MCP server at this path: the usual paths are /mcp"},
		{"a redirect", moved.URL, "handshake", "the server has moved: write the URL that it redirects to"},
		{"a server that closes the connection", hangUp.URL, "handshake", "the server closes the connection without a reply: "},
	} {
		said, code := runDoctor(t, fmt.Sprintf(`{"url":%q}`, c.url))
		want := regexp.MustCompile(`(?m)^  FAIL  ` + c.step + ` .*\n        try: ` + regexp.QuoteMeta(c.try))
		if !want.MatchString(said) || code == 0 {
			t.Errorf("%s: exit code %d, want %s\n%s", c.name, code, want, said)
		}
	}
}

// TestTheDoctorHidesSecrets checks that secrets which a server repeats are hidden in both kinds of output. Text in the
// configuration file is not secret.
func TestTheDoctorHidesSecrets(t *testing.T) {
	useHomeDir(t)
	t.Setenv("SECRET", "s3cret-v4lue")
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprint(w, r.Header.Get("X-Key"), r.Header.Get("Authorization"), r.URL)
	}))
	defer echo.Close()
	f := fixture.Build(t)
	for _, row := range []string{
		fmt.Sprintf(`{"url":"%s/${SECRET}/?k=${SECRET}","headers":{"X-Key":"${SECRET}","Authorization":"Bearer ${SECRET}"}}`,
			echo.URL),
		fmt.Sprintf(`{"command":%q,"args":["-exit","-stderr","${SECRET}"],"env":{"KEY":"${SECRET}"}}`, f),
		`{"command":"sh","args":["-c","echo $KEY; echo $KEY >&2; exec cat ` +
			`>/dev/null"],"env":{"KEY":"${SECRET}"},"timeout":"300ms"}`,
		fmt.Sprintf(`{"command":"sh","args":["-c","echo $KEY; exec %s"],"env":{"KEY":"${SECRET}"}}`, f),
	} {
		for _, flag := range []string{"--json=false", "--json"} {
			if said, _ := runDoctor(t, row, flag); strings.Contains(said, "s3cret-v4lue") {
				t.Errorf("%s %s says the secret:\n%s", row, flag, said)
			}
		}
	}
	t.Setenv("LONG", strings.Repeat("k3y", 100)+"\nthe second line of it")
	t.Setenv("LONGER", strings.Repeat("k3y", 200)) // longer than the displayed part of an answer
	for _, row := range []string{
		`{"command":"sh","args":["-c","echo $KEY $KEY; echo \"$KEY\" >&2; exit 1"],"env":{"KEY":"${LONG}"}}`,
		fmt.Sprintf(`{"url":"%s/mcp","headers":{"X-Key":"${LONGER}"}}`, echo.URL),
	} {
		if said, _ := runDoctor(t, row); strings.Contains(said, "k3yk3y") || strings.Contains(said, "second line") {
			t.Errorf("%s says a part of the secret:\n%s", row, said)
		}
	}
	said, _ := runDoctor(t,
		`{"command":"sh","args":["-c","echo no /srv/docs here >&2; exit 1"],"env":{"DOCS":"/srv/docs"}}`)
	if !strings.Contains(said, "| no /srv/docs here") {
		t.Errorf("a path is not told:\n%s", said)
	}
}

// TestTheDoctorsDocumentIsStable checks the fields that programs depend on.
func TestTheDoctorsDocumentIsStable(t *testing.T) {
	useHomeDir(t)
	raw, code := runDoctor(t, `{"command":"no-such-program-anywhere"}`, "--json")
	raw, _, _ = strings.Cut(raw, "\nindus: ")
	type step struct {
		Step, Detail, Advice string
		OK                   *bool
		MS                   *int64
	}
	var doc struct {
		OK                *bool
		General, Together []step
		Servers           []struct {
			Server, State, Transport, Target, File string
			Line                                   int
			OK                                     *bool
			Steps                                  []step
		}
	}
	d := json.NewDecoder(strings.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	one := doc.Servers[0]
	last := one.Steps[len(one.Steps)-1]
	if code != 4 || *doc.OK || *one.OK || one.State != "active" || one.Transport != "stdio" || one.Line != 1 ||
		len(doc.General) != 4 || doc.Together == nil {
		t.Errorf("exit code %d\n%s", code, raw)
	}
	if last.Step != "command" || *last.OK || *last.MS < 0 || last.Detail == "" || last.Advice == "" {
		t.Errorf("%+v", last)
	}
}
