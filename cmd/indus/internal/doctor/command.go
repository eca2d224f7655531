package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/internal/proc"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/interop"
)

// lookup is a server's command, looked up as its start does it.
type lookup struct {
	interop.Stdio
	proc.Command
	path string
	err  error
}

func lookUp(t interop.Stdio) *lookup {
	l := &lookup{Stdio: t}
	l.Command = proc.Command{Path: t.Command, Args: t.Args, Dir: t.Dir, Env: t.Environ()}
	l.path, l.err = l.Find()
	return l
}

// has reports whether the server gets a variable.
func (l *lookup) has(name string) bool {
	return slices.ContainsFunc(l.Command.Env, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
}

// advice is where a command that is not found may be, or which one may be meant. "": its fault says all.
func (l *lookup) advice() string {
	name := l.Stdio.Command
	var at *fs.PathError
	switch {
	case errors.As(l.err, &at) && at.Op == "chdir", !errors.Is(l.err, fs.ErrNotExist) && !errors.Is(l.err, exec.ErrNotFound):
		return ""
	case strings.ContainsAny(name, `/\`):
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(l.Stdio.Dir, path)
		}
		return "there is no such file: is the path right, and the server installed?" +
			command.DidYouMean(filepath.Base(path), fileNames(filepath.Dir(path)))
	case strings.Contains(name, " "):
		return `the command holds spaces: put the program alone in "command", and each argument in "args"`
	}
	if found := findOutsidePath(name); found != "" {
		return fmt.Sprintf(`it is at %s, which is not in the PATH of indus: write that path in "command", and where it calls others beside it "env": {"PATH": "%s:${PATH}"}`,
			found, filepath.Dir(found))
	}
	install := installed[name]
	if install != "" {
		install = "install " + install + `; where it is installed, write its whole path in "command"`
	}
	var programs []string
	for _, dir := range filepath.SplitList(l.SearchPath()) {
		if filepath.IsAbs(dir) && len(programs) < maxPrograms {
			programs = append(programs, fileNames(dir)...)
		}
	}
	if near := text.Nearest(name, programs, 3); len(near) > 0 {
		return strings.TrimSuffix("did you mean "+strings.Join(near, ", ")+"? Or "+install, " Or ")
	}
	return install
}

// maxPrograms bounds the search for what may be meant.
const maxPrograms = 20_000

func fileNames(dir string) (names []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// installed is what brings a program that many configurations start servers with.
var installed = map[string]string{
	"npx": "Node.js, which brings npx", "node": "Node.js", "npm": "Node.js, which brings npm",
	"uvx": "uv, which brings uvx", "uv": "uv", "bunx": "Bun, which brings bunx", "bun": "Bun", "deno": "Deno",
	"docker": "Docker", "podman": "Podman", "pipx": "pipx", "python": `Python, or write "python3"`, "python3": "Python",
	"dotnet": ".NET", "java": "Java",
}

// findOutsidePath is where a program is that is not in the PATH: version managers add their directories in the shell's
// start-up files, which are not read where a desktop starts indus.
func findOutsidePath(name string) string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	for _, pattern := range []string{
		"~/.nvm/versions/node/*/bin", "~/.local/share/fnm/node-versions/*/installation/bin", "~/.volta/bin",
		"~/.asdf/shims", "~/.local/share/mise/shims", "~/.pyenv/shims", "~/.local/bin", "~/bin", "~/.cargo/bin",
		"~/.bun/bin", "~/.deno/bin", "~/go/bin", "~/.npm-global/bin", "~/.dotnet/tools",
		"/opt/homebrew/bin", "/usr/local/bin", "/home/linuxbrew/.linuxbrew/bin", "/snap/bin",
		"/Applications/Docker.app/Contents/Resources/bin",
	} {
		if rest, ok := strings.CutPrefix(pattern, "~/"); ok {
			pattern = filepath.Join(home, rest)
		}
		paths, _ := filepath.Glob(filepath.Join(pattern, name))
		for _, path := range slices.Backward(paths) { // the newest version is mostly the last
			if _, err := exec.LookPath(path); err == nil {
				return path
			}
		}
	}
	return ""
}

// notInContainer are the variables that a container is to get from an environment that does
// not have them: docker run -e NAME passes on what is there, and is silent otherwise.
func (l *lookup) notInContainer() (missing []string) {
	if !slices.Contains([]string{"docker", "podman"}, filepath.Base(l.Stdio.Command)) {
		return nil
	}
	for i, a := range l.Stdio.Args {
		name, ok := strings.CutPrefix(a, "--env=")
		if !ok && i > 0 && (l.Stdio.Args[i-1] == "-e" || l.Stdio.Args[i-1] == "--env") {
			name, ok = a, true
		}
		if ok && name != "" && !strings.Contains(name, "=") && !l.has(name) && !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
	}
	return missing
}

// fetcher is the program by which a command fetches what it runs; "" where there is none.
func fetcher(t interop.Stdio) string {
	name := strings.TrimSuffix(filepath.Base(t.Command), ".cmd")
	if slices.Contains([]string{"npx", "uvx", "bunx", "pipx", "docker", "podman", "npm"}, name) {
		return name
	}
	return ""
}

// prefetch is advice about a start that takes long because something is fetched.
func prefetch(t interop.Stdio) string {
	switch name := fetcher(t); name {
	case "":
		return ""
	case "docker", "podman":
		return "fetch the image beforehand: " + name + " pull"
	default:
		return "install the server for good and name its own command: " + name + " looks it up, and may fetch it, at each start"
	}
}
