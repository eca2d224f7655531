package commandline

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/proc"
	"github.com/indusagi/indus/internal/text"
)

// kind is the way in which the arguments of a program name the code that it runs.
type kind int

const (
	noLauncher kind = iota
	runner          // one argument names the code; the arguments behind it belong to that code
	builder         // it runs code in a directory that any of its arguments may name
	wrapper         // it runs the command line in its arguments, without a mark where it begins
)

// kindOf returns the kind of a program by its name, which may have a version.
func kindOf(word string) kind {
	switch strings.TrimRight(proc.ProgramName(word), "0123456789.-") {
	case "npx", "bunx", "uvx", "uv", "pipx", "python", "pythonw", "py", "pypy", "node", "nodejs", "pnpx",
		"deno", "bun", "tsx", "ts-node", "go", "ruby", "perl", "php", "lua", "java", "dotnet", "julia",
		"rscript", "elixir", "tclsh", "awk", "gawk", "env", "sh", "bash", "dash", "zsh", "ksh", "fish",
		"busybox", "cmd", "pwsh", "powershell", "mcp", "fastmcp", "uvicorn", "nodemon":
		return runner
	case "timeout", "nice", "nohup", "setsid", "stdbuf", "time", "ionice", "chrt", "taskset", "xvfb-run",
		"strace", "doas", "xargs", "flock", "chroot", "firejail", "bwrap", "systemd-run", "watchexec", "dotenv",
		"dotenvx", "op", "doppler", "aws-vault", "infisical":
		return wrapper
	case "npm", "pnpm", "yarn", "cargo", "make", "gmake", "just", "task", "docker-compose", "podman-compose",
		"direnv", "mise", "gradle", "mvn", "bundle", "rake", "composer", "poetry", "pdm", "hatch", "rye",
		"pixi", "conda", "mamba", "micromamba", "swift", "mix", "bazel", "su", "script", "nox", "tox", "nix",
		"sudo":
		return builder
	}
	return noLauncher
}

// ExecutedWord returns the first word of a command line by which it runs something for which isInProject returns true.
// Such a word is the program itself, the code of a launcher or an argument before it, or any argument of a builder.
// Launchers are also found behind others ("env node …").
func ExecutedWord(words []string, isInProject func(string) bool) (word string, found bool) {
	if isInProject(words[0]) {
		return words[0], true
	}
	for i, w := range words {
		if first, _, several := strings.Cut(w, " "); several && kindOf(first) != noLauncher && isInProject(w) {
			return w, true // a command line in one argument, as in supergateway --stdio "node server.js"
		}
		rest := words[i+1:]
		how := kindOf(w)
		if slices.Contains([]string{"docker", "podman"}, filepath.Base(w)) && slices.ContainsFunc(rest, isComposer) {
			how = builder
		}
		switch how {
		case builder:
			if i := slices.Index(rest, "--"); i >= 0 && !slices.Contains(rest[:i], "exec") {
				rest = rest[:i] // arguments behind that belong to the built program
			}
			word, found = firstMatch(rest, isInProject)
		case runner:
			word, found = runnerArgument(rest, isInProject)
		case wrapper:
			if next := slices.IndexFunc(rest, func(w string) bool { return kindOf(w) != noLauncher }); next >= 0 {
				rest = rest[:next]
			}
			word, found = firstMatch(rest, isInProject)
		}
		if found {
			return word, true
		}
	}
	return "", false
}

// Launches reports whether a command line starts a launcher, which may find code in its working directory.
func Launches(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		first, _, _ := strings.Cut(w, " ")
		return kindOf(w) != noLauncher || kindOf(first) != noLauncher || isComposer(w)
	})
}

// isComposer reports whether an argument builds a container from files, or reads its variables from a file.
func isComposer(word string) bool {
	return word == "compose" || word == "build" || word == "buildx" || strings.HasPrefix(word, "--env-file")
}

func firstMatch(words []string, isInProject func(string) bool) (string, bool) {
	i := slices.IndexFunc(words, isInProject)
	if i < 0 {
		return "", false
	}
	return words[i], true
}

// runnerArgument checks the words up to the word that names the code. An option may have a value, so a word behind an
// option is taken for its value. In doubt, more words are checked.
func runnerArgument(words []string, isInProject func(string) bool) (string, bool) {
	value := false
	for i, w := range words {
		switch {
		case isInProject(w) && !strings.HasPrefix(w, "--allow-"):
			return w, true
		case value:
			value = false
		case w == "--" || slices.Contains(subcommands, w) || assignment().MatchString(w):
		case slices.Contains(CodeOptions, strings.ToLower(w)) && i+1 < len(words):
			return words[i+1], isInProject(words[i+1])
		case strings.HasPrefix(w, "-") || strings.HasPrefix(w, "/") && len(w) == 2:
			value = !strings.Contains(w, "=") && !switches().MatchString(w)
		default:
			return "", false
		}
	}
	return "", false
}

var (
	subcommands = []string{"run", "exec", "x", "tool", "dlx", "dev"}
	// CodeOptions are the options that name code to run.
	CodeOptions = []string{"-m", "-c", "-lc", "-ic", "-e", "-jar", "/c", "-command", "-file"}
	switches    = text.Pattern(`^(-[ysqvuisSIEABOP]|--(yes|quiet|silent|verbose|offline|bun|isolated|refresh|unstable|` +
		`(no|allow|enable|experimental|prefer)-.*))$`)
	assignment = text.Pattern(`^\w+=`)
	// Loaders matches variables by which programs find code, or directories with code. Other variables hold data.
	Loaders = text.Pattern(`(?i)^(PATH|HOME|ENV|BASH_ENV|ZDOTDIR|CLASSPATH|VIRTUAL_ENV|` +
		`.*PRELOAD|.*LIBRARY_PATH|.*_OPTIONS|` +
		`(NODE|NPM|PNPM|YARN|COREPACK|BUN|DENO|PYTHON|UV|PIP|PIPX|CONDA|` +
		`LD|DYLD|PERL|PERL5|RUBY|GEM|BUNDLE|JAVA|JDK|GO|CARGO|RUST|MAKE|` +
		`COMPOSE|DOCKER|GIT|XDG|DOTNET|LUA|PHP|NIX|MISE|ASDF|PYENV|NODENV|DIRENV)` +
		`(_.*|PATH|HOME|OPT|LIB|FLAGS|ENV|RC|STARTUP|USERBASE)?)$`)
)
