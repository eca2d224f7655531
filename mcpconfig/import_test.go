package mcpconfig_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/indusagi/indus/mcpconfig"
)

// TestImport runs each case of testdata/import. Its comment has these lines:
// "import: PATH [CLIENT]", "client: NAME" for the client's own files, "read: PATH"
// for the result of Read, and "env: NAME=value". Its files are in project/ (the
// working directory) and home/, where the clients keep them. Its last file, want,
// is the outcome. XDG_CONFIG_HOME is home/.config.
func TestImport(t *testing.T) { golden(t, "testdata/import", importCase) }

// layOut writes the files of a case, and changes the directory to its project.
func layOut(t *testing.T, files []txtar.File) (project, home string) {
	t.Helper()
	dir := tempDir(t)
	project, home = filepath.Join(dir, "project"), filepath.Join(dir, "home")
	mkdir(t, project)
	mkdir(t, home)
	replace := strings.NewReplacer("$PROJECT", project, "$HOME/", home+"/")
	for _, f := range files {
		write(t, filepath.Join(dir, f.Name), replace.Replace(string(f.Data)))
	}
	t.Chdir(project)
	return project, home
}

func importCase(t *testing.T, comment string, files []txtar.File) string {
	t.Helper()
	project, home := layOut(t, files)
	env := map[string]string{"HOME": home, "USERPROFILE": home}
	opts := &mcpconfig.Options{Env: lookup(env)}
	var b strings.Builder
	for line := range strings.Lines(comment) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		value = strings.NewReplacer("$HOME", home, "$PROJECT", project).Replace(value)
		path, client, _ := strings.Cut(value, " ")
		switch key {
		case "env":
			name, v, _ := strings.Cut(value, "=")
			env[name] = v
		case "import":
			imported, err := mcpconfig.Import(path, client, opts)
			fmt.Fprintf(&b, "# import %s\n%s", value, renderImported(imported, err))
		case "client":
			imported, err := mcpconfig.Import("", value, opts)
			fmt.Fprintf(&b, "# client %s\n%s", value, renderImported(imported, err))
		case "read":
			c, err := mcpconfig.Read(t.Context(), []string{path}, opts)
			fmt.Fprintf(&b, "# read %s\n%s", value, render(t, c, err))
		}
	}
	return strings.NewReplacer(home, "$HOME", project, "$PROJECT").Replace(b.String())
}

func renderImported(i *mcpconfig.Imported, err error) string {
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", i.Client, strings.Join(i.Files, " "))
	for _, d := range i.Definitions {
		fmt.Fprintf(&b, "%s %s\n", d.ID, d.JSON)
	}
	for _, n := range i.Notes {
		fmt.Fprintf(&b, "%-8s %s\n", n.State, n)
	}
	return b.String()
}
