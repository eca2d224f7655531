package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/proc"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
)

// advice returns advice for a server that is not connected: from observations here, or else [interop.Fault.Advice].
func (x *examination) advice() string {
	late, connected := errors.Is(x.failed, interop.Timeout), x.status.Era != ""
	if x.command != nil && !connected {
		if advice := x.processAdvice(late); advice != "" {
			return advice
		}
	} else if late && !x.tcp.ended {
		return fmt.Sprint(x.Server.Transport) + " does not answer at all: check the host, the VPN and the firewall"
	} else if late && !connected {
		return `the server accepts the connection and does not answer: is it an MCP server? A slow ` +
			`server needs a longer "timeout"`
	}
	if fault, ok := errors.AsType[*interop.Fault](x.failed); ok {
		return fault.Advice()
	}
	return ""
}

// processAdvice returns advice for a server that is a process. It is "" if the fault has the advice.
func (x *examination) processAdvice(late bool) string {
	l := x.command
	if advice := x.missingVariable(); advice != "" {
		return advice
	}
	program := fetcher(l.Stdio)
	if late || x.exited() {
		for _, name := range networkVariables(program, strings.TrimSpace(x.lastStderr)) {
			if os.Getenv(name) != "" && !l.hasVariable(name) {
				return adviseVariable(name)
			}
		}
	}
	switch served := x.servedURL(); {
	case x.exited():
		return ""
	case served != "":
		return fmt.Sprintf(
			`it seems to serve HTTP: start it yourself and configure "url": %q, or find the argument for stdio`, served)
	case late && regexp.MustCompile(`answers no request: [a-z]`).MatchString(x.failed.Error()):
		// The fault describes the output.
		return "" // its fault has more details
	case late && x.noiseCount > 0:
		return "the output on stdout is not MCP: logs belong on stderr; does this command start the server itself, " +
			"over stdio?"
	case late && program != "":
		return `the first start may download: run the command by hand once, or raise "timeout"`
	case late:
		return `the server runs and sends nothing: does it use stdio, and not HTTP? A slow server needs a ` +
			`longer "timeout"`
	}
	return ""
}

// Words in the stderr of a program that did not reach the daemon of containers, did not accept a certificate, or had
// another fault of the network.
var (
	daemonWords  = text.Pattern(`(?i)daemon|\.sock\b|\bsocket\b|docker_engine`)
	tlsWords     = text.Pattern(`(?i)certificate|\b(tls|ssl|x509)\b|SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)`)
	networkWords = text.Pattern(`(?i)\b(proxy|registry|network|dns|socket|timed? ?out)\b|` +
		`getaddrinfo|resolve|connection|ECONN|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|fetch|download|offline`)
)

// networkVariables returns the variables that a program may lack if it fails with this stderr, the likeliest first.
// npx retries silently without them, so a program without stderr may lack any.
func networkVariables(program, stderr string) []string {
	certificates := map[string][]string{
		"npx": {"NODE_EXTRA_CA_CERTS"}, "npm": {"NODE_EXTRA_CA_CERTS"}, "bunx": {"NODE_EXTRA_CA_CERTS"},
		"uvx": {"SSL_CERT_FILE"}, "pipx": {"REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"},
	}[program]
	connections := []string{
		"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "NPM_CONFIG_REGISTRY", "UV_INDEX_URL",
	}
	switch {
	case program == "":
	case program == "docker" || program == "podman": // the daemon makes all other connections
		if daemonWords().MatchString(stderr) {
			return []string{"DOCKER_HOST", "DOCKER_CONTEXT", "CONTAINER_HOST", "CONTAINER_CONNECTION"}
		}
	case tlsWords().MatchString(stderr):
		return append(certificates, connections...)
	case networkWords().MatchString(stderr):
		return connections
	case stderr == "":
		return append(connections, certificates...)
	}
	return nil
}

func adviseVariable(name string) string {
	return fmt.Sprintf(`%s is set here and is not passed on: "env": {"%s": "${%s}"}`, name, name, name)
}

// missingVariable returns advice if stderr names a variable that the server does not get.
func (x *examination) missingVariable() string {
	variableName := regexp.MustCompile(`\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b`)
	asksFor := regexp.MustCompile(
		`(?i)required|missing|not set|must be set|not (?:been )?(?:defined|provided|found|configured)|undefined|` +
			`environment variable|env var|please (?:set|provide)|KeyError`)
	for line := range strings.Lines(x.lastStderr) {
		for _, name := range variableName.FindAllString(line, -1) {
			_, set := os.LookupEnv(name)
			switch {
			case x.command.hasVariable(name):
			case set:
				return adviseVariable(name)
			case asksFor.MatchString(line):
				return fmt.Sprintf(`the server needs the variable %s: set it, and pass it on: "env": {"%s": "${%s}"}`,
					name, name, name)
			}
		}
	}
	return ""
}

// servedURL returns the local URL of HTTP that a server for stdio prints, or "".
func (x *examination) servedURL() string {
	listensAt := regexp.MustCompile(`https?://[\w.\-\[\]:]+[\w/\-.]*`)
	for _, printed := range append(slices.Clone(x.noiseLines), x.lastStderr) {
		for _, found := range listensAt.FindAllString(printed, -1) {
			u, err := url.Parse(strings.TrimRight(found, "./"))
			if err == nil && (u.Hostname() == "localhost" || u.Hostname() == "0.0.0.0" ||
				net.ParseIP(u.Hostname()).IsLoopback()) && u.Port() != "" {
				return u.String()
			}
		}
	}
	return ""
}

// lookup is the command of a server, found in the same way as at its start.
type lookup struct {
	config.Stdio
	proc.Command
	path string
	err  error
}

func lookupCommand(t config.Stdio) *lookup {
	l := &lookup{Stdio: t}
	l.Command = proc.Command{Path: t.Command, Args: t.Args, Dir: t.Dir, Env: t.Environ()}
	l.path, l.err = l.Find()
	return l
}

// hasVariable reports whether the server gets a variable.
func (l *lookup) hasVariable(name string) bool {
	return slices.ContainsFunc(l.Command.Env, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
}

// advice returns the location of a missing command, or similar names. It is "" if the fault has all facts.
func (l *lookup) advice() string {
	name := l.Stdio.Command
	var at *fs.PathError
	switch {
	case errors.As(l.err, &at) && at.Op == "chdir",
		!errors.Is(l.err, fs.ErrNotExist) && !errors.Is(l.err, exec.ErrNotFound):
		return ""
	case strings.Contains(name, " ") && isFile(strings.Fields(name)[0]):
		return spacesAdvice
	case strings.ContainsAny(name, `/\`):
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(l.Stdio.Dir, path)
		}
		return "there is no such file: is the path right, and the server installed?" +
			command.DidYouMean(filepath.Base(path), fileNames(filepath.Dir(path)))
	case strings.Contains(name, " "):
		return spacesAdvice
	}
	if found := findOutsidePath(name); found != "" {
		return fmt.Sprintf(
			`it is at %s, which is not in the PATH of indus: write that path in "command", and if it calls other `+
				`programs there, "env": {"PATH": "%s:${PATH}"}`,
			found, filepath.Dir(found))
	}
	install := softwareOf[name]
	if install != "" {
		install = "install " + install + `; if it is installed, write its full path in "command"`
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

const spacesAdvice = `the command has spaces: write only the program in "command", and each argument in "args"`

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && filepath.IsAbs(path)
}

// maxPrograms is the number of programs in PATH above which no further directory is searched for
// similar names.
const maxPrograms = 20_000

func fileNames(dir string) []string {
	entries, _ := os.ReadDir(dir)
	return show.Names(entries, os.DirEntry.Name)
}

// softwareOf maps programs that start many servers to the software that provides them.
var softwareOf = map[string]string{
	"npx": "Node.js, which brings npx", "node": "Node.js", "npm": "Node.js, which brings npm",
	"uvx": "uv, which brings uvx", "uv": "uv", "bunx": "Bun, which brings bunx", "bun": "Bun", "deno": "Deno",
	"docker": "Docker", "podman": "Podman", "pipx": "pipx", "python": `Python, or write "python3"`, "python3": "Python",
	"dotnet": ".NET", "java": "Java",
}

// findOutsidePath returns the path of a program that is not in the PATH, or "". Version managers add their directories
// in start-up files of the shell. If a desktop starts indus, these files are not read.
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
		for _, path := range slices.Backward(paths) { // the last one is usually the newest version
			if _, err := exec.LookPath(path); err == nil {
				return path
			}
		}
	}
	return ""
}

// missingInContainer returns the variables that a container should get but that are not in the server's environment.
// docker run -e NAME silently ignores a variable that is not set.
func (l *lookup) missingInContainer() (missing []string) {
	if !slices.Contains([]string{"docker", "podman"}, filepath.Base(l.Stdio.Command)) {
		return nil
	}
	for i, a := range l.Stdio.Args {
		name, ok := strings.CutPrefix(a, "--env=")
		if !ok && i > 0 && (l.Stdio.Args[i-1] == "-e" || l.Stdio.Args[i-1] == "--env") {
			name, ok = a, true
		}
		if ok && name != "" && !strings.Contains(name, "=") && !l.hasVariable(name) && !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
	}
	return missing
}

// fetcher returns the program by which a command fetches the server, or "".
func fetcher(t config.Stdio) string {
	name := proc.ProgramName(t.Command)
	if slices.Contains([]string{"npx", "uvx", "bunx", "pipx", "docker", "podman", "npm"}, name) {
		return name
	}
	return ""
}

// prefetch returns advice for a start that is slow because it fetches the server.
func prefetch(t config.Stdio) string {
	switch name := fetcher(t); name {
	case "":
		return ""
	case "docker", "podman":
		return "download the image before: " + name + " pull"
	default:
		return "install the server and use its own command: " + name +
			" looks it up, and may download it, at each start"
	}
}
