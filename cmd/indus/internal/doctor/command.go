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
	"syscall"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/internal/proc"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/interop"
)

// lookup is a server's command, looked up as its start will do it.
type lookup struct {
	stdio interop.Stdio
	env   []string // all that the server gets
	path  string
	err   error
	proc.Command
}

func lookUp(t interop.Stdio) *lookup {
	extra := make([]string, 0, len(t.Env))
	for _, p := range t.Env {
		extra = append(extra, p.Name+"="+p.Value.Reveal())
	}
	l := &lookup{stdio: t, env: proc.Environ(os.Environ(), extra, t.InheritEnv)}
	l.Command = proc.Command{Path: t.Command, Args: t.Args, Dir: t.Dir, Env: l.env}
	l.path, l.err = l.Find()
	return l
}

// step says which program it is, or why there is none.
func (l *lookup) step() step {
	if l.err != nil {
		return bad("command", l.err.Error(), l.advice())
	}
	s := good("command", l.path)
	if missing := l.unset(); missing != nil {
		s.Advice = fmt.Sprintf(`the container is to get %s, which the server's environment does not have: give it in "env"`,
			strings.Join(missing, ", "))
	}
	return s
}

// advice is what to do about a command that cannot be started.
func (l *lookup) advice() string {
	var at *fs.PathError
	named := !strings.ContainsAny(l.stdio.Command, `/\`)
	switch {
	case errors.As(l.err, &at) && at.Op == "chdir":
		return `the directory in "cwd" does not exist or is none: make it, or mend "cwd"`
	case errors.Is(l.err, fs.ErrPermission):
		return "the file may not be executed: chmod +x it, or name its interpreter as the command"
	case errors.Is(l.err, syscall.EISDIR):
		return "the command is a directory: name a program in it"
	case !named:
		return "there is no such file: is the path right, and the server installed?" + l.nearPath()
	case strings.Contains(l.stdio.Command, " "):
		return `the command holds spaces: put the program alone in "command", and each argument in "args"`
	}
	if found := l.elsewhere(); found != "" {
		return fmt.Sprintf(`it is at %s, which is not in the PATH of indus: write that path in "command", and where it calls others beside it "env": {"PATH": "%s:${PATH}"}`,
			found, filepath.Dir(found))
	}
	if near := text.Nearest(l.stdio.Command, l.programs(), 3); len(near) > 0 {
		return "did you mean " + strings.Join(near, ", ") + "?" + installHint(l.stdio.Command, " Or ")
	}
	return orElse(installHint(l.stdio.Command, ""), "install it, or write its whole path in \"command\"")
}

// nearPath is a file beside the one that is missing.
func (l *lookup) nearPath() string {
	path := l.stdio.Command
	if !filepath.IsAbs(path) {
		path = filepath.Join(l.stdio.Dir, path)
	}
	var names []string
	entries, _ := os.ReadDir(filepath.Dir(path))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return command.DidYouMean(filepath.Base(path), names)
}

// installHint says what brings a program that many configurations start servers with.
func installHint(command, before string) string {
	from := map[string]string{
		"npx": "Node.js, which brings npx", "node": "Node.js", "npm": "Node.js, which brings npm",
		"uvx": "uv, which brings uvx", "uv": "uv", "bunx": "Bun, which brings bunx", "bun": "Bun", "deno": "Deno",
		"docker": "Docker", "podman": "Podman", "pipx": "pipx", "python": `Python, or write "python3"`, "python3": "Python",
		"dotnet": ".NET", "java": "Java",
	}[command]
	if from == "" {
		return ""
	}
	return before + "install " + from + "; where it is installed, write its whole path in \"command\""
}

// programs are the names of what can be started by name.
func (l *lookup) programs() []string {
	const enough = 20_000
	var names []string
	for _, dir := range filepath.SplitList(l.SearchPath()) {
		if !filepath.IsAbs(dir) || len(names) > enough {
			continue
		}
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			names = append(names, e.Name())
		}
	}
	return names
}

// elsewhere is where a program is that is not in the PATH: version managers put it
// there by the shell's start-up files, which nobody reads who starts indus from a
// desktop.
func (l *lookup) elsewhere() string {
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
		paths, _ := filepath.Glob(filepath.Join(pattern, l.stdio.Command))
		for _, path := range slices.Backward(paths) { // the newest version is mostly the last
			if _, err := exec.LookPath(path); err == nil {
				return path
			}
		}
	}
	return ""
}

// unset are the variables that a container is to get from an environment that does
// not have them: docker run -e NAME passes on what is there, and is silent otherwise.
func (l *lookup) unset() []string {
	if !slices.Contains([]string{"docker", "podman"}, filepath.Base(l.stdio.Command)) {
		return nil
	}
	var missing []string
	for i, a := range l.stdio.Args {
		name, ok := strings.CutPrefix(a, "--env=")
		if !ok && i > 0 && (l.stdio.Args[i-1] == "-e" || l.stdio.Args[i-1] == "--env") {
			name, ok = a, true
		}
		if ok && isVariable(name) && !l.has(name) && !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
	}
	return missing
}

// isVariable reports a name of a variable, and nothing beside it.
func isVariable(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
}

// has reports whether the server gets a variable.
func (l *lookup) has(name string) bool {
	return slices.ContainsFunc(l.env, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
}

// runner is the program that a command runs another with; "" where it is none of
// those that fetch what they run.
func runner(t interop.Stdio) string {
	name := strings.TrimSuffix(filepath.Base(t.Command), ".cmd")
	if slices.Contains([]string{"npx", "uvx", "bunx", "pipx", "docker", "podman", "npm"}, name) {
		return name
	}
	return ""
}

// slowRunner is why a start may take so long.
func slowRunner(t interop.Stdio) string {
	switch r := runner(t); r {
	case "":
		return ""
	case "docker", "podman":
		return "fetch the image beforehand: " + r + " pull"
	default:
		return "install the server for good and name its own command: " + r + " looks it up, and may fetch it, at each start"
	}
}
