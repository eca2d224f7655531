package locked_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/locked"
)

func TestParse(t *testing.T) {
	for line, want := range map[string]string{
		"npx -y weather":                                    "npm weather  | npx -y weather |",
		"npx weather@1.2.3 --port 3":                        "npm weather 1.2.3 | npx weather@1.2.3 | --port 3",
		"npx -y @scope/weather@^1.0 a":                      "npm @scope/weather ^1.0 | npx -y @scope/weather@^1.0 | a",
		"npx -y @scope/weather@latest":                      "npm @scope/weather  | npx -y @scope/weather@latest |",
		"npx -y --package=@scope/weather@2 weather-mcp x":   "npm @scope/weather 2 (weather-mcp) | npx -y --package=@scope/weather@2 weather-mcp | x",
		"npx -p weather -- weather-mcp":                     "npm weather  (weather-mcp) | npx -p weather -- weather-mcp |",
		"/usr/bin/npx.cmd --yes weather":                    "npm weather  | /usr/bin/npx.cmd --yes weather |",
		"npm exec -y -- weather@1 x":                        "npm weather 1 | npm exec -y -- weather@1 | x",
		"pnpm dlx weather":                                  "npm weather  | pnpm dlx weather |",
		"bunx weather":                                      "npm weather  | bunx weather |",
		"uvx mcp-server-time --local-timezone=Europe/Paris": "pypi mcp-server-time  | uvx mcp-server-time | --local-timezone=Europe/Paris",
		"uvx mcp-server-time@2025.1":                        "pypi mcp-server-time 2025.1 | uvx mcp-server-time@2025.1 |",
		"uvx --from weather[cli]==1.0 weather-mcp":          "pypi weather[cli] ==1.0 (weather-mcp) | uvx --from weather[cli]==1.0 weather-mcp |",
		"uv tool run weather":                               "pypi weather  | uv tool run weather |",
		"pipx run --spec weather>=1,<2 weather-mcp":         "pypi weather >=1,<2 (weather-mcp) | pipx run --spec weather>=1,<2 weather-mcp |",

		"node server.js":                      `error: "node" runs no package`,
		"npm run x":                           `error: "npm" runs a package only as "npm exec or x"`,
		"npx":                                 "error: npx has no package behind its options",
		"npx -c weather":                      "error: the option -c of npx cannot be locked",
		"npx --registry=http://evil weather":  "error: the option --registry of npx cannot be locked",
		"npx -p a -p b c":                     "error: -p names a second package",
		"npx -p":                              "error: -p has no package behind it",
		"npx ./weather":                       `error: "./weather" is no package of a registry`,
		"npx github:a/b":                      `error: "github:a/b" is no package`,
		"npx a/b":                             `error: "a/b" is no package`,
		"npx weather@npm:other":               `error: "weather@npm:other" is no package`,
		"npx weather@file:../x":               `error: "weather@file:../x" is no package`,
		"npx https://h/x.tgz":                 `error: "https://h/x.tgz" is no package`,
		"npx -p weather ../x":                 `error: "../x" is no program`,
		"uvx --from git+https://h/x weather":  `error: "git+https://h/x" is no package`,
		"uvx --with other weather":            "error: the option --with of uvx cannot be locked",
		"uvx --index-url http://evil weather": "error: the option --index-url of uvx cannot be locked",
		"uvx weather@git+https://h":           `error: "weather@git+https://h" is no package`,
		"npx -y ${PKG}":                       `error: "${PKG}" is no package`,
		"npx -y " + strings.Repeat("a", 300):  "error: ",
	} {
		words := strings.Fields(line)
		s, err := locked.Parse(words[0], words[1:])
		got := ""
		if err != nil {
			got = "error: " + err.Error()
		} else {
			program := ""
			if s.Program != "" {
				program = " (" + s.Program + ")"
			}
			got = strings.TrimSpace(string(s.Ecosystem) + " " + s.Package + " " + s.Want + program + " | " +
				strings.Join(s.Words, " ") + " | " + strings.Join(s.Args, " "))
		}
		if got != want && (err == nil || !strings.HasPrefix(got, want)) {
			t.Errorf("%s:\n got %s\nwant %s", line, got, want)
		}
	}
}

func TestExactVersions(t *testing.T) {
	for word, want := range map[string]bool{
		"a@1.2.3": true, "a@1.2.3-rc.1": true, "a@=1.2.3": true, "a": false, "a@latest": false, "a@^1.2.3": false, "a@1": false, "a@1.2": false,
		"a@~1.2.3": false, "a@1.x": false, "a@>=1.0.0 <2.0.0": false, "a@next": false,
	} {
		if s, err := locked.Parse("npx", []string{word}); err != nil || s.IsExact() != want {
			t.Errorf("%s: %t, %v", word, s.IsExact(), err)
		}
	}
}

const npmLock = `{"lockfileVersion":3,"packages":{"":{"dependencies":{"weather":"1.0.0"}},` +
	`"node_modules/lib":{"version":"2.0.0","integrity":"sha512-bGli"},` +
	`"node_modules/weather":{"version":"1.0.0","integrity":"sha512-d2U=","bin":{"weather":"dist/i.js","other":"o.js"}}}}`

func npmEntry(t *testing.T) locked.Entry {
	t.Helper()
	s, err := locked.Parse("npx", []string{"-y", "weather"})
	if err != nil {
		t.Fatal(err)
	}
	e, err := locked.FromNPM(s, []byte(npmLock))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// A lock file may be of another person. What it names must be decided by hashes, and stay below its directory.
func TestALockThatDecidesNothingIsRefused(t *testing.T) {
	whole := npmEntry(t)
	pip := locked.Entry{
		From: []string{"uvx", "w"}, Ecosystem: locked.PyPI, Package: "w", Version: "1.0", Program: locked.VenvBin + "w",
		Lock: json.RawMessage(`["w==1.0 --hash=sha256:` + strings.Repeat("0", 64) + `"]`),
	}
	for name, c := range map[string]struct {
		entry  locked.Entry
		change func(*locked.Entry)
		want   string
	}{
		"an address": {whole, swap(`"version":"2.0.0"`, `"version":"2.0.0","resolved":"https://evil.example/lib.tgz"`),
			"has an address of its own"},
		"a repository": {whole, swap(`"version":"2.0.0","integrity":"sha512-bGli"`, `"version":"2.0.0","resolved":"git+ssh://h/x"`),
			"has an address of its own"},
		"no hash":        {whole, swap(`,"integrity":"sha512-bGli"`, ``), "has no hash"},
		"a weak hash":    {whole, swap(`sha512-bGli`, `sha1-bGli`), "not of SHA-512"},
		"a link":         {whole, swap(`"version":"2.0.0"`, `"link":true`), "is a link"},
		"a place above":  {whole, swap(`node_modules/lib`, `node_modules/../../lib`), "is no place of a package"},
		"another place":  {whole, swap(`node_modules/lib`, `lib`), "is no place of a package"},
		"an old version": {whole, swap(`"lockfileVersion":3`, `"lockfileVersion":1`), "version 1 in place of 3"},
		"another package": {whole, swap(`"version":"1.0.0","integrity":"sha512-d2U="`, `"version":"1.0.1","integrity":"sha512-d2U="`),
			"has another weather than 1.0.0"},
		"another hash": {whole, swap(`sha512-d2U=`, `sha512-ZXZpbA==`), "has another weather"},
		"a program above": {whole, func(e *locked.Entry) { e.Program = "node_modules/weather/../../../../bin/sh" },
			"is not below its directory"},
		"a program of another package": {whole, func(e *locked.Entry) { e.Program = "node_modules/lib/x.js" }, "is not one of weather"},
		"an absolute program":          {whole, func(e *locked.Entry) { e.Program = "/bin/sh" }, "is not below its directory"},
		"another ecosystem":            {whole, func(e *locked.Entry) { e.Ecosystem = "gem" }, "is unknown"},
		"a requirement without a hash": {pip, swap(` --hash=sha256:`+strings.Repeat("0", 64), ``), "no exact version"},
		"a requirement at a URL":       {pip, swap(`w==1.0`, `w @ https://evil.example/w.whl`), "no exact version"},
		"an option of pip":             {pip, swap(`"w==1.0`, `"--index-url https://evil.example","w==1.0`), "no exact version"},
		"a file of requirements":       {pip, swap(`"w==1.0`, `"-r /etc/passwd","w==1.0`), "no exact version"},
		"two lines in one":             {pip, swap(`w==1.0 `, `w==1.0\n-e . `), "no exact version"},
		"requirements of another":      {pip, swap(`w==1.0`, `v==1.0`), "have no w 1.0"},
		"a program of the system":      {pip, func(e *locked.Entry) { e.Program = "venv/bin/../../x" }, "is not"},
	} {
		path := filepath.Join(t.TempDir(), "mcp.lock.json")
		write := func(e locked.Entry) error {
			text, err := json.Marshal(locked.File{LockVersion: 1, Servers: map[string]locked.Entry{"s": e}})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err = locked.Read(path)
			return err
		}
		if err := write(c.entry); err != nil {
			t.Fatalf("%s: the unchanged lock: %v", name, err)
		}
		c.change(&c.entry)
		if err := write(c.entry); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// swap replaces a text of the lock, which it must have.
func swap(old, now string) func(*locked.Entry) {
	return func(e *locked.Entry) {
		changed := strings.Replace(string(e.Lock), old, now, 1)
		if changed == string(e.Lock) {
			panic("the lock has no " + old)
		}
		e.Lock = json.RawMessage(changed)
	}
}

func TestTheFilesOfAnEntryAreChecked(t *testing.T) {
	e, store := npmEntry(t), locked.Store{Root: t.TempDir()}
	dir := store.Dir("s", e)
	put := func() {
		t.Helper()
		from := filepath.Join(store.Root, "from")
		for name, text := range map[string]string{"a.js": "a", "lib/b.js": "b", "lib/c.js": "c"} {
			path := filepath.Join(from, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := store.Put("s", e, from); err != nil {
			t.Fatal(err)
		}
	}
	if err := locked.Check(dir); err != locked.ErrMissing {
		t.Errorf("without files: %v", err)
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	for want, change := range map[string]func() error{
		"":                                func() error { return nil },
		`the file "lib/b.js" has changed`: func() error { return os.WriteFile(file("lib/b.js"), []byte("x"), 0o600) },
		`the file "lib/bb.js" is new`:     func() error { return os.WriteFile(file("lib/bb.js"), []byte("x"), 0o600) },
		`the file "z.js" is new`:          func() error { return os.WriteFile(file("z.js"), []byte("x"), 0o600) },
		`the file "lib/c.js" is missing`:  func() error { return os.Remove(file("lib/c.js")) },
		`the file "a.js" is missing`:      func() error { return os.Remove(file("a.js")) },
		`the file "a.js" has changed`:     func() error { return os.Chmod(file("a.js"), 0o700) },
		`the file "lib/c.js" has changed`: func() error {
			return replaceKeepingTimes(file("lib/c.js"))
		},
		"its locked version is not installed": func() error { return os.Remove(locked.FilesOf(dir)) },
	} {
		put()
		for range 2 { // the second check reads no file
			if err := locked.Check(dir); err != nil {
				t.Fatal(err)
			}
		}
		if err := change(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := locked.Check(dir); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
	}
	if err := store.Remove("s", e.Digest()); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(store.Root); len(left) > 0 {
		t.Errorf("after its removal there is %v", left)
	}
}

// replaceKeepingTimes changes a file of one byte, and sets its old times again.
func replaceKeepingTimes(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte("y"), 0o600); err != nil {
		return err
	}
	return os.Chtimes(path, info.ModTime(), info.ModTime())
}

func TestChanges(t *testing.T) {
	before := npmEntry(t)
	after := before
	after.Lock = json.RawMessage(strings.NewReplacer(`"node_modules/lib"`, `"node_modules/new"`, `"version":"1.0.0"`,
		`"version":"1.1.0","hasInstallScript":true`).Replace(npmLock))
	want := []locked.Change{
		{Name: "lib", Before: "2.0.0"}, {Name: "new", After: "2.0.0"},
		{Name: "weather", Before: "1.0.0", After: "1.1.0", NewScript: true},
	}
	after.Version = "1.1.0"
	if got := locked.Changes(before, after); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	if before.Digest() == after.Digest() {
		t.Error("both have one digest")
	}
}
