package mcpconfig_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig"
)

var update = flag.Bool("update", false, "write what Read returns into testdata/read")

// TestRead runs each case of testdata/read. Its comment has lines "paths: …", "env: NAME=value",
// "trust", "dry" and "approve: id …". The last approves held rows. The files of a case are in work/
// (the working directory) and home/. Its last file, want, is the expected result of Read.
func TestRead(t *testing.T) { golden(t, "testdata/read", readCase) }

// golden runs the cases of a directory. The last file of a case, want, is the expected result of run.
func golden(t *testing.T, dir string, run func(t *testing.T, comment string, files []txtar.File) string) {
	t.Helper()
	eachCase(t, dir, func(t *testing.T, a *txtar.Archive) *txtar.Archive {
		files := given(a)
		want := txtar.File{Name: "want", Data: []byte(run(t, string(a.Comment), files))}
		return &txtar.Archive{Comment: a.Comment, Files: append(files, want)}
	})
}

// eachCase runs the cases of a directory. The outcome of a case must equal the case. It can also write
// the cases anew.
func eachCase(t *testing.T, dir string, outcome func(*testing.T, *txtar.Archive) *txtar.Archive) {
	t.Helper()
	dir, err := filepath.Abs(dir) // a case may change the directory
	if err != nil {
		t.Fatal(err)
	}
	cases, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(cases) == 0 {
		t.Fatal(cases, err)
	}
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want, got := string(txtar.Format(archive)), txtar.Format(outcome(t, archive))
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// given returns the files of a case without its outcome.
func given(a *txtar.Archive) []txtar.File {
	return slices.DeleteFunc(slices.Clone(a.Files), func(f txtar.File) bool { return f.Name == "want" })
}

// readCase lays the files out, reads them, and renders the outcome with the names of the directories
// replaced.
func readCase(t *testing.T, comment string, files []txtar.File) string {
	t.Helper()
	dir := tempDir(t)
	work, home := filepath.Join(dir, "work"), filepath.Join(dir, "home")
	for _, d := range []string{work, home} {
		mkdir(t, d)
	}
	for _, f := range files {
		write(t, filepath.Join(dir, f.Name), string(f.Data))
	}
	t.Chdir(work)
	env := map[string]string{"HOME": home, "USERPROFILE": home}
	opts := &mcpconfig.Options{Env: lookup(env)}
	var paths, approve []string
	for line := range strings.Lines(comment) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		value = strings.NewReplacer("$HOME", home, "$WORK", work).Replace(value)
		switch key {
		case "paths":
			paths = strings.Fields(value)
		case "trust":
			opts.Trust = true
		case "dry":
			opts.Dry = true
		case "approve":
			approve = strings.Fields(value)
		case "env":
			name, v, _ := strings.Cut(value, "=")
			env[name] = v
		}
	}
	if approve != nil {
		c, err := mcpconfig.Read(t.Context(), paths, opts)
		if err != nil {
			t.Fatal(err)
		}
		waiting := slices.DeleteFunc(c.Held(), func(r mcpconfig.Row) bool { return !slices.Contains(approve, r.Server.ID) })
		if err := mcpconfig.Approve(opts, waiting...); err != nil {
			t.Fatal(err)
		}
	}
	c, err := mcpconfig.Read(t.Context(), paths, opts)
	return strings.NewReplacer(home, "$HOME", work, "$WORK").Replace(render(t, c, err))
}

func lookup(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := env[name]
		return v, ok
	}
}

func render(t *testing.T, c *mcpconfig.Config, err error) string {
	t.Helper()
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var b strings.Builder
	for _, r := range c.Rows {
		fmt.Fprintf(&b, "%s:%d %s %s\n", r.File, r.Line, r.Scope, r)
	}
	for _, s := range c.Servers() {
		fmt.Fprintf(&b, "\n%s\n", revealed(t, s))
	}
	for _, v := range c.Views {
		profile := ""
		if v.Profile != nil {
			profile = v.Profile.Name()
		}
		fmt.Fprintf(&b, "\n%s:%d view %s %q %q %q %q %s %s\n", v.File, v.Line, v.Name, v.Servers, v.Tools, v.Prompts, v.Resources, v.Mode, profile)
		if v.Publish {
			b.WriteString("published\n")
		}
	}
	if len(c.Notes) > 0 {
		b.WriteString("\n")
	}
	for _, n := range c.Notes {
		fmt.Fprintf(&b, "%-8s %s\n", n.State, n)
	}
	return b.String()
}

// revealed returns a server with its secrets, in the form of a configuration.
func revealed(t *testing.T, s config.Server) string {
	t.Helper()
	row := []any{s.ID}
	switch tr := s.Transport.(type) {
	case config.Stdio:
		row = append(row, tr.Kind(), tr.Command, tr.Args, pairs(tr.Env), tr.Dir, tr.InheritEnv)
	case config.HTTP:
		row = append(row, tr.Kind(), tr.URL, pairs(tr.Headers))
	case config.SSE:
		row = append(row, tr.Kind(), tr.URL, pairs(tr.Headers))
	default:
		t.Fatalf("%s has no transport", s.ID)
	}
	if s.Timeouts != (config.Timeouts{}) {
		var steps []string
		for _, d := range []time.Duration{s.Timeouts.Connect, s.Timeouts.List, s.Timeouts.Call, s.Timeouts.Total} {
			steps = append(steps, d.String())
		}
		if s.Timeouts.Queue != 0 {
			steps = append(steps, s.Timeouts.Queue.String())
		}
		row = append(row, steps)
	}
	if signIn := fmt.Sprintf("%+v %+v %+v", s.OAuth, s.TLS, s.Forward); signIn != fmt.Sprintf("%+v %+v %+v", config.OAuth{}, config.TLS{}, config.Forward{}) {
		for _, one := range []config.Secret{s.OAuth.ClientSecret, s.OAuth.PrivateKey, s.OAuth.SubjectToken, s.OAuth.Provider.ClientSecret} {
			if one.Reveal() != "" {
				signIn = strings.Replace(signIn, "<secret>", "("+one.Reveal()+")", 1)
			}
		}
		row = append(row, signIn)
	}
	if rules, _ := json.Marshal(s.Tools); string(rules) != `{"Allow":null,"Deny":null,"Rename":null,"Describe":null}` {
		row = append(row, s.Tools)
	}
	if s.Pool != (config.Pool{}) {
		row = append(row, fmt.Sprintf("pool %+v", s.Pool))
	}
	if s.Single {
		row = append(row, "single")
	}
	if s.Era != "" {
		row = append(row, "era "+string(s.Era))
	}
	if s.Changes.Guards() {
		row = append(row, "changes "+string(s.Changes))
	}
	if s.Profile != nil {
		row = append(row, "profile "+s.Profile.Name())
	}
	text, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func pairs(list []config.Pair) []string {
	out := []string{}
	for _, p := range list {
		out = append(out, p.Name+"="+p.Value.Reveal())
	}
	return out
}

// tempDir returns a directory without symbolic links in its path. On macOS the usual one has some.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	mkdir(t, filepath.Dir(path))
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
