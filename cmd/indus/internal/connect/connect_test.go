package connect_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v3"

	"github.com/indusagi/indus/cmd/indus/internal/connect"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/mcpconfig"
)

// TestWays checks that the links hold the entry that the files have, and that words from outside stay words.
func TestWays(t *testing.T) {
	e, err := connect.NewEntry("http://127.0.0.1:7332/mcp", "a b'; rm")
	if err != nil || e.ID != "indus-a b'; rm" || e.URL != "http://127.0.0.1:7332/mcp/a%20b%27%3B%20rm" {
		t.Fatalf("%+v, %v", e, err)
	}
	e.Bearer = "indus_abc.def"
	links := map[string]string{}
	for _, w := range connect.Ways(e) {
		if (w.Text == "") != takesNoURL(w.Client) || w.Text == "" && w.Notes == nil {
			t.Errorf("%+v", w)
		}
		if w.Text != "" && !strings.Contains(w.Text, "Bearer indus_abc.def") {
			t.Errorf("%s has no key: %s", w.Client, w.Text)
		}
		if w.Line != "" && !strings.Contains(w.Line, `'indus-a b'\''; rm'`) && !strings.Contains(w.Line, `indus-a b'\''; rm`) {
			t.Errorf("%s: %s", w.Client, w.Line)
		}
		links[w.Client] = w.Link
	}
	want := map[string]any{"url": e.URL, "headers": map[string]any{"Authorization": "Bearer indus_abc.def"}}
	for _, client := range []string{"cursor", "lmstudio"} {
		u, err := url.Parse(links[client])
		if err != nil {
			t.Fatal(err)
		}
		config, err := base64.StdEncoding.DecodeString(u.Query().Get("config"))
		if got := decoded(t, config); err != nil || u.Query().Get("name") != e.ID || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v", client, got, err)
		}
	}
	want["name"], want["type"] = e.ID, "http"
	_, query, _ := strings.Cut(links["vscode"], "vscode:mcp/install?")
	config, err := url.PathUnescape(query)
	if got := decoded(t, []byte(config)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("vscode: %v, %v", got, err)
	}
}

func decoded(t *testing.T, text []byte) (v map[string]any) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// place is a home and a project of their own.
type place struct {
	t             *testing.T
	home, project string
}

func newPlace(t *testing.T) place {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the paths in testdata are those of Linux")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := place{t, filepath.Join(dir, "home"), filepath.Join(dir, "project")}
	for _, dir := range []string{p.home, p.project} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{
		"HOME": p.home, "XDG_CONFIG_HOME": filepath.Join(p.home, ".config"),
		"XDG_STATE_HOME": filepath.Join(p.home, ".local", "state"), "CLAUDE_CONFIG_DIR": "", "CODEX_HOME": "",
		"COPILOT_HOME": "", "OPENCODE_CONFIG": "", "INDUS_TOKEN": "",
	} {
		t.Setenv(name, value)
	}
	t.Chdir(p.project)
	return p
}

// run runs indus connect, and returns its messages.
func (p place) run(args ...string) (string, error) {
	p.t.Helper()
	var out, messages bytes.Buffer
	noneRuns := func(context.Context) ([]string, error) { return nil, nil }
	cmd := connect.New(show.New(strings.NewReader(""), &out, &messages), noneRuns)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(context.Background())
	return out.String() + messages.String(), err
}

func (p place) write(path string, text []byte, mode fs.FileMode) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		p.t.Fatal(err)
	}
}

// documented returns the files after the documentation of the vendors.
func documented(t *testing.T) []txtar.File {
	t.Helper()
	a, err := txtar.ParseFile("testdata/documented.txtar")
	if err != nil {
		t.Fatal(err)
	}
	return a.Files
}

// TestEveryClient connects each client, by a URL and by a command. The other parts of the file stay, and the entry has only
// members that the vendor's documentation has, with the same values. The undo restores the bytes and the mode. A client
// without a file gets the text that a person puts into its configuration.
func TestEveryClient(t *testing.T) {
	left := map[string]bool{}
	for _, c := range mcpconfig.Clients() {
		left[c.Name] = true
	}
	for _, f := range documented(t) {
		client, path, _ := strings.Cut(f.Name, "/")
		delete(left, client)
		for row, flags := range map[string][]string{
			"documented": {"--url", "https://example.com/mcp"}, "started": {"--stdio"},
		} {
			if row == "documented" && takesNoURL(client) {
				continue
			}
			t.Run(client+" "+row, func(t *testing.T) { connectDocumented(t, client, path, f.Data, row, flags) })
		}
	}
	if diff := cmp.Diff(map[string]bool{"indus-agents": true}, left); diff != "" {
		t.Errorf("clients without a file here: -want +got:\n%s", diff)
	}
	p := newPlace(t)
	out, err := p.run("indus-agents", "--url", "https://example.com/mcp")
	for _, text := range []string{
		"put the entry into its configuration", `"type": "streamable-http"`, `"url": "https://example.com/mcp"`,
	} {
		if err != nil || !strings.Contains(out, text) {
			t.Errorf("%v: %q is missing in %s", err, text, out)
		}
	}
}

// TestEveryClientGetsItsServersBack removes the servers of each client's documented file and puts them back. They are as
// they were, also if the client has written other parts of its file, and in a file that has no servers any more.
func TestEveryClientGetsItsServersBack(t *testing.T) {
	for _, f := range documented(t) {
		client, path, _ := strings.Cut(f.Name, "/")
		rows, err := mcpconfig.ClientRows(client, f.Data)
		if err != nil || len(rows) == 0 {
			t.Fatalf("%s: %v, %v", f.Name, rows, err)
		}
		var ids []string
		for id := range rows {
			ids = append(ids, id)
		}
		without, _, err := mcpconfig.Export(client, mcpconfig.Entry{ID: "indus", Remove: ids}, f.Data)
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		back, _, err := mcpconfig.Export(client, mcpconfig.Entry{ID: "indus", Restore: rows}, without)
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		if diff := cmp.Diff(rowsOf(t, path, string(f.Data)), rowsOf(t, path, string(back))); diff != "" {
			t.Errorf("%s: -before +restored:\n%s", f.Name, diff)
		}
		other := mcpconfig.Entry{ID: "indus", Restore: map[string]json.RawMessage{ids[0]: json.RawMessage(`{"name":"` + ids[0] + `"}`)}}
		if _, _, err := mcpconfig.Export(client, other, back); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: another server of the name is replaced: %v", f.Name, err)
		}
	}
}

// takesNoURL reports whether the file of a client has commands only.
func takesNoURL(client string) bool { return client == "claude-desktop" || client == "indusagi" }

// connectDocumented connects one client. Its entry must be like a row of its documented file.
func connectDocumented(t *testing.T, client, path string, file []byte, row string, flags []string) {
	p := newPlace(t)
	path = filepath.Join(filepath.Dir(p.home), filepath.FromSlash(path))
	p.write(path, file, 0o640)
	args, project := append([]string{client, "--yes"}, flags...), []string{}
	if strings.HasPrefix(path, p.project) {
		project = []string{"--project"}
	}
	t.Setenv("INDUS_TOKEN", "in-the-environment")
	if said, err := p.run(append(args, project...)...); err != nil {
		t.Fatal(err, said)
	}
	after := read(t, path)
	if said, err := p.run(append(args, project...)...); err != nil || read(t, path) != after {
		t.Errorf("connected twice: %v, %s", err, said)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rows, before := rowsOf(t, path, strings.ReplaceAll(after, program, "indus")), rowsOf(t, path, string(file))
	got, _ := rows["indus"].(map[string]any)
	want, _ := before[row].(map[string]any)
	if got == nil || want == nil {
		t.Fatalf("the entry is missing:\n%s", after)
	}
	for name, value := range got {
		isName := (name == "name" || name == "id") && value == "indus" // in Continue, Goose and indusagi
		if !isName && !reflect.DeepEqual(value, want[name]) {
			t.Errorf("%s is %v, and %v in the documentation", name, value, want[name])
		}
	}
	delete(rows, "indus")
	if diff := cmp.Diff(before, rows); diff != "" {
		t.Errorf("-before +after:\n%s", diff)
	}
	for line := range strings.Lines(string(file)) {
		if bare := strings.TrimRight(line, "\n,"); !strings.Contains(after, bare) {
			t.Errorf("the line %q is gone", line)
		}
	}
	if said, err := p.run(append([]string{client, "--revert", "--yes"}, project...)...); err != nil {
		t.Fatal(err, said)
	}
	if diff := cmp.Diff(string(file), read(t, path)); diff != "" {
		t.Errorf("-before +reverted:\n%s", diff)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestEveryClientWithoutAFile connects each client that has no file yet, by a command, a URL and a key. The file has the
// one entry, a second connection changes nothing, and the undo removes the file.
func TestEveryClientWithoutAFile(t *testing.T) {
	const url = "https://example.com/mcp"
	for _, f := range documented(t) {
		client, path, _ := strings.Cut(f.Name, "/")
		for form, flags := range map[string][]string{
			"serve": {"--stdio"}, url: {"--url", url}, "Bearer indus_": {"--url", url, "--key"},
		} {
			isProject := strings.HasPrefix(path, "project/")
			if takesNoURL(client) && form != "serve" || isProject && form == "Bearer indus_" {
				continue
			}
			t.Run(client+" "+strings.Join(flags, " "), func(t *testing.T) {
				p := newPlace(t)
				inProject, files := mcpconfig.Client{Name: client}.SplitFiles(nil)
				var project []string
				if isProject {
					project, files = []string{"--project"}, inProject
				}
				path := files[0]
				args := append(append([]string{client, "--yes"}, flags...), project...)
				if said, err := p.run(args...); err != nil {
					t.Fatal(err, said)
				}
				after := read(t, path)
				if rows := rowsOf(t, path, after); len(rows) != 1 || rows["indus"] == nil || !strings.Contains(after, form) {
					t.Errorf("the file is\n%s", after)
				}
				if said, err := p.run(args...); err != nil || read(t, path) != after {
					t.Errorf("connected twice: %v, %s", err, said)
				}
				if said, err := p.run(append([]string{client, "--revert", "--yes"}, project...)...); err != nil {
					t.Fatal(err, said)
				}
				if _, err := os.Stat(path); !os.IsNotExist(err) {
					t.Errorf("the file is not removed: %v", err)
				}
			})
		}
	}
}

// rowsOf reads the servers of a file with a parser of its own.
func rowsOf(t *testing.T, path, text string) map[string]any {
	t.Helper()
	file := map[string]any{}
	var err error
	switch filepath.Ext(path) {
	case ".toml":
		err = toml.Unmarshal([]byte(text), &file)
	case ".yaml", ".yml":
		err = yaml.Unmarshal([]byte(text), &file)
	default:
		var plain []byte
		if plain, err = hujson.Standardize([]byte(text)); err == nil {
			err = json.Unmarshal(plain, &file)
		}
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", path, err, text)
	}
	for _, key := range []string{
		"mcpServers", "servers", "mcp", "mcp_servers", "extensions", "context_servers", "amp.mcpServers",
	} {
		switch servers := file[key].(type) {
		case map[string]any:
			return servers
		case []any:
			out := map[string]any{}
			for _, s := range servers {
				row := s.(map[string]any)
				id, ok := row["name"]
				if !ok {
					id = row["id"]
				}
				out[fmt.Sprint(id)] = row
			}
			return out
		}
	}
	return file
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRevertRestoresTheBytes connects clients whose files are the vectors of the importer, the hostile ones too, with
// random line ends, marks, blanks and modes. If connect refuses a file, the file stays as it is. Otherwise the undo
// restores its bytes. INDUS_SEED sets the printed seed.
func TestRevertRestoresTheBytes(t *testing.T) {
	r := fixture.Rand(t)
	vectors := map[string][][]byte{} // by the syntax
	names, err := filepath.Glob("../../../../mcpconfig/testdata/import/*.txtar")
	if err != nil || len(names) < 30 {
		t.Fatal(err, names)
	}
	for _, name := range names {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			if f.Name != "want" {
				vectors[syntaxOf(f.Name)] = append(vectors[syntaxOf(f.Name)], f.Data)
			}
		}
	}
	p := newPlace(t)
	reverted := 0
	for _, c := range mcpconfig.Clients() {
		_, files := c.SplitFiles(nil)
		if len(files) == 0 {
			continue
		}
		all := vectors[syntaxOf(files[0])]
		for range 4 {
			text := disturbed(r, all[r.IntN(len(all))])
			mode := []fs.FileMode{0o600, 0o644, 0o660}[r.IntN(3)]
			p.write(files[0], text, mode)
			args := []string{c.Name, "--yes", "--url", "http://127.0.0.1:1/mcp", "--key"}
			if takesNoURL(c.Name) {
				args = []string{c.Name, "--yes"}
			}
			said, err := p.run(args...)
			connections := 0
			if err == nil && !strings.Contains(said, "has it already") {
				connections++
			}
			if err == nil && r.IntN(2) == 0 { // two connections are undone one after the other
				said, err := p.run(c.Name, "--stdio", "--force", "--yes", "--mcp", p.project)
				if err != nil {
					t.Fatal(c.Name, err, said)
				}
				connections++
			}
			for range connections {
				reverted++
				if said, err := p.run(c.Name, "--revert", "--yes"); err != nil {
					t.Fatal(c.Name, err, said)
				}
			}
			info, statErr := os.Stat(files[0])
			if got := read(t, files[0]); got != string(text) || statErr != nil || info.Mode().Perm() != mode {
				t.Fatalf("%s: connect: %v; %v, -before +after:\n%s", c.Name, err, info.Mode(), cmp.Diff(string(text), got))
			}
			if err := os.Remove(files[0]); err != nil {
				t.Fatal(err)
			}
		}
	}
	if reverted < 25 {
		t.Errorf("only %d of the files could be written", reverted)
	}
	if left := read(t, filepath.Join(p.home, ".local/state/indus/serve.apikeys.json")); strings.Contains(left, "principal") {
		t.Errorf("keys are left: %s", left)
	}
}

func syntaxOf(name string) string {
	switch ext := strings.TrimSuffix(filepath.Ext(name), "c"); ext {
	case ".yml":
		return ".yaml"
	case ".toml", ".yaml":
		return ext
	}
	return ".json"
}

// disturbed changes a text at places that have no meaning in most syntaxes.
func disturbed(r *rand.Rand, text []byte) []byte {
	s := string(text)
	if r.IntN(3) == 0 {
		s = strings.ReplaceAll(s, "\n", "\r\n")
	}
	if r.IntN(3) == 0 {
		s = strings.ReplaceAll(s, "\n  ", "\n\t")
	}
	if r.IntN(4) == 0 {
		s = strings.TrimRight(s, "\r\n")
	}
	if r.IntN(4) == 0 {
		s += "\n\n  \n"
	}
	if r.IntN(4) == 0 {
		s = "\ufeff" + s
	}
	return []byte(s)
}
