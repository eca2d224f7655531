package box_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/box"
)

// tree creates files in a directory: "PATH = CONTENT", "PATH -> TARGET" or "PATH/". ROOT in a content is the directory.
func tree(t *testing.T, entries string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for entry := range strings.Lines(entries) {
		entry = strings.ReplaceAll(strings.TrimSpace(entry), "ROOT", root)
		path, content, isFile := strings.Cut(entry, " =")
		path, target, isLink := strings.Cut(path, " -> ")
		path = filepath.Join(root, path)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		switch {
		case isLink:
			must(t, os.Symlink(target, path))
		case isFile:
			must(t, os.WriteFile(path, []byte(strings.ReplaceAll(strings.TrimSpace(content), `\n`, "\n")), 0o755))
		case entry != "":
			must(t, os.MkdirAll(path, 0o755))
		}
	}
	return root
}

// TestStrictReadsWhatTheProgramNeeds checks the paths that a command adds to those of the system.
func TestStrictReadsWhatTheProgramNeeds(t *testing.T) {
	for _, row := range []struct {
		name, files, command string // command: the path of the program, and its arguments
		read, write          string // of the box
		want                 string // the paths that it reads, without those of the system
	}{
		{name: "one program",
			files: "opt/tool/server =", command: "opt/tool/server", want: "opt/tool"},
		{name: "libraries beside bin",
			files: "opt/bin/server = \nopt/lib/a = ", command: "opt/bin/server", want: "opt/bin opt/lib"},
		{name: "a program in the home is a file",
			files: "home/server = ", command: "home/server", want: "home/server"},
		{name: "programs of the user, without what lies beside",
			files:   "home/.local/bin/server = \nhome/.local/lib/a = \nhome/.local/share/secret = ",
			command: "home/.local/bin/server", want: "home/.local/bin home/.local/lib"},
		{name: "npx of nvm",
			files: "home/.nvm/v22/bin/npx -> ../lib/node_modules/npm/bin/npx-cli.js\nhome/.nvm/v22/bin/node = \n" +
				"home/.nvm/v22/lib/node_modules/npm/bin/npx-cli.js = #!/usr/bin/env node\n" +
				"home/.nvm/v22/lib/node_modules/npm/package.json = {}",
			command: "home/.nvm/v22/bin/npx",
			want: "home/.nvm/v22/bin home/.nvm/v22/lib home/.nvm/v22/lib/node_modules " +
				"home/.nvm/v22/lib/node_modules/npm home/.nvm/v22/lib/node_modules/npm/bin"},
		{name: "a script, its package and what it imports",
			files: "opt/node = \nhome/work/node_modules/a/index.js = \nhome/work/package.json = {}\n" +
				"home/work/packages/server/package.json = {}\nhome/work/packages/server/dist/index.js = ",
			command: "opt/node --flag ROOT/home/work/packages/server/dist/index.js ROOT/home/other.js",
			want: "home/work/node_modules home/work/package.json home/work/packages/server " +
				"home/work/packages/server/dist opt"},
		{name: "a script of a relative path",
			files: "opt/node = \nhome/work/a.mjs = ", command: "opt/node home/work/a.mjs", want: "home/work opt"},
		{name: "a package in the home itself adds no home",
			files: "opt/node = \nhome/package.json = {}\nhome/work/a.js = ", command: "opt/node ROOT/home/work/a.js",
			want: "home/work opt"},
		{name: "a virtual environment",
			files: "home/p/.venv/bin/python -> ROOT/opt/py/bin/python3\nopt/py/bin/python3 = \nopt/py/lib/a = \n" +
				`home/p/.venv/pyvenv.cfg = home = ROOT/opt/py/bin\nversion = 3` + "\nhome/p/server.py = ",
			command: "home/p/.venv/bin/python ROOT/home/p/server.py",
			want:    "home/p home/p/.venv home/p/.venv/bin opt/py/bin opt/py/lib"},
		{name: "a virtual environment that the process can change is not believed",
			files: "home/p/.venv/bin/python -> ROOT/opt/py/bin/python3\nopt/py/bin/python3 = \n" +
				"home/p/.venv/pyvenv.cfg = home = ROOT/home/.ssh\nhome/.ssh/id = ",
			command: "home/p/.venv/bin/python", write: "home/p", want: ""},
		{name: "a link that the process can change is not followed",
			files:   "opt/node = \nhome/p/a.js -> ROOT/home/.ssh/id.js\nhome/.ssh/id.js = ",
			command: "opt/node ROOT/home/p/a.js", write: "home/p", want: "opt"},
		{name: "an interpreter that the process can choose is not believed",
			files: "home/p/run = #!/usr/bin/env ROOT/home/.ssh/id\nhome/.ssh/id = ", command: "home/p/run", write: "home/p",
			want: ""},
		{name: "a rule below a writable directory could become a link",
			files: "opt/node = \nhome/p/docs -> ROOT/home/.ssh\nhome/.ssh/id = ", command: "opt/node",
			read: "home/p/docs home/docs", write: "home/p home/p/docs", want: "home/docs opt"},
	} {
		root := tree(t, row.files)
		under := func(paths string) (all []string) {
			for path := range strings.FieldsSeq(paths) {
				all = append(all, filepath.Join(root, path))
			}
			return all
		}
		b := &box.Box{Read: under(row.read), Write: under(row.write)}
		argv := strings.Fields(strings.ReplaceAll(row.command, "ROOT", root))
		env := []string{"HOME=" + root + "/home", "PATH=" + root + "/home/.nvm/v22/bin"}
		read, write, err := b.Resolve(filepath.Join(root, argv[0]), argv, root, env)
		must(t, err)
		read = slices.DeleteFunc(read, func(path string) bool { return !strings.HasPrefix(path, root) })
		if want := under(row.want); !slices.Equal(read, want) {
			t.Errorf("%s: reads\n  %s\nwant\n  %s", row.name, strings.Join(read, "\n  "), strings.Join(want, "\n  "))
		}
		if len(write) > 1 {
			t.Errorf("%s: writes %v", row.name, write)
		}
	}
}

// TestTheHomeCannotBeMoved checks that a private home is a directory of its user alone.
func TestTheHomeCannotBeMoved(t *testing.T) {
	root := tree(t, "box/a/home -> ROOT/secret\nsecret/key = \nbox/b = file\nbox/c/home/")
	must(t, os.Chmod(root+"/box/c/home", 0o777))
	for name, works := range map[string]bool{"a": false, "b": false, "c": true, "d": true} {
		b := &box.Box{Home: filepath.Join(root, "box", name)}
		_, write, err := b.Resolve("/bin/true", []string{"true"}, "/", nil)
		if (err == nil) != works {
			t.Errorf("home %s: %v, %v", name, write, err)
		}
		for _, dir := range write {
			if info, err := os.Lstat(dir); works && (err != nil || info.Mode() != os.ModeDir|0o700) {
				t.Errorf("%s: %v %v", dir, info.Mode(), err)
			}
		}
	}
}
