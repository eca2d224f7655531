package servers

import (
	"encoding/json"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig"
)

// heldServer is the description of a server that approve shows.
type heldServer struct {
	Server   string   `json:"server"`
	File     string   `json:"file"`
	Line     int      `json:"line"`
	Reason   string   `json:"reason,omitempty"`
	Project  string   `json:"project,omitempty"` // the project that a user's row is approved for
	Runs     string   `json:"runs"`              // command line or URL
	Hosts    []string `json:"hosts,omitempty"`
	Cwd      string   `json:"cwd,omitempty"`
	Env      []string `json:"env,omitempty"`
	Headers  []string `json:"headers,omitempty"`
	SignIn   []string `json:"oauth,omitempty"`
	TLS      []string `json:"tls,omitempty"`
	Forwards []string `json:"forwards,omitempty"` // names of the callers' headers
	EnvFile  string   `json:"envFile,omitempty"`
	Inherits bool     `json:"inheritEnv,omitempty"`
	// Box is what the command may reach. It is empty for a URL.
	Box     string          `json:"box,omitempty"`
	Sandbox *config.Sandbox `json:"sandbox,omitempty"`
	// Tools holds the rules for tools. Their texts may reach a model.
	Tools json.RawMessage `json:"tools,omitempty"`
	// Settings holds the other members of the row as they are written.
	Settings []string            `json:"settings,omitempty"`
	Files    []mcpconfig.RowFile `json:"files,omitempty"`
	Approved bool                `json:"approved"`

	config *mcpconfig.Config
	row    mcpconfig.Row
}

// newHeldServer returns all facts that a person needs before a row may run. All members of a project's row are shown,
// and none is masked: a repository could make any text look like a secret. Variables stay as they are written.
func newHeldServer(c *mcpconfig.Config, r mcpconfig.Row) *heldServer {
	w := &heldServer{
		Server: r.Server.ID, File: r.File, Line: r.Line, Reason: r.Reason, Project: r.Project, Runs: r.Target, Files: r.Files,
		config: c, row: r,
	}
	d, _ := c.Definition(r)
	fromProject := r.Project == ""
	members, _ := wire.Members(d.JSON)
	var called, args json.RawMessage
	for _, m := range members {
		text := memberText(m.Key, m.Value, fromProject)
		switch m.Key {
		case "command", "url":
			called = m.Value
		case "args":
			args = m.Value
		case "cwd":
			w.Cwd = text
		case "envFile":
			w.EnvFile = text
		case "env":
			w.Env = namedValues(m.Value, "=", fromProject)
		case "headers":
			w.Headers = namedValues(m.Value, ": ", fromProject)
		case "oauth":
			w.SignIn = namedValues(m.Value, "=", fromProject)
			if w.SignIn == nil {
				w.SignIn = []string{text}
			}
		case "tls":
			w.TLS = namedValues(m.Value, "=", fromProject)
		case "tools":
			w.Tools = m.Value
		case "forwardHeaders", "authorization":
			w.Forwards = r.Server.Forward.Names()
		case "id", "name", "type", "transport", "enabled", "disabled", "inheritEnv", boxField:
		default:
			w.Settings = append(w.Settings, m.Key+"="+text)
		}
	}
	if r.Kind == config.KindSSE {
		w.Settings = append(w.Settings, "transport=sse")
	}
	if fromProject {
		w.Runs = commandLine(called, args)
	}
	if t, ok := r.Server.Transport.(config.Stdio); ok {
		w.Inherits, w.Box, w.Sandbox = t.InheritEnv, command.BoxInForce(t.Sandbox), t.Sandbox
	}
	w.Hosts = hostsOf(r, string(d.JSON))
	return w
}

// hostsOf returns the hosts that a row calls, with the values of its variables. written is the text of the row. If a
// variable in it may hold a secret, the host shows the variable instead of its value.
func hostsOf(r mcpconfig.Row, written string) (hosts []string) {
	addresses := []string{r.Server.OAuth.Issuer, r.Server.OAuth.Provider.Issuer, r.Server.OAuth.ClientMetadataURL}
	switch t := r.Server.Transport.(type) {
	case config.HTTP:
		addresses = append([]string{t.URL}, addresses...)
	case config.SSE:
		addresses = append([]string{t.URL}, addresses...)
	}
	for _, address := range addresses {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || strings.Contains(u.Host, "${") {
			continue
		}
		host := u.Host
		for _, m := range variableNames().FindAllStringSubmatch(written, -1) {
			if value := os.Getenv(m[1]); value != "" && (secret.IsSecretName(m[1]) || secret.HasSecretFormat(value)) {
				host = strings.ReplaceAll(host, value, "${"+m[1]+"}")
			}
		}
		if !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// variableNames compiles on first use, because \w costs 0.2 ms at each start.
var variableNames = text.Pattern(`\$\{(?:env:)?(\w+)`)

func commandLine(command, args json.RawMessage) string {
	elements, _ := wire.Elements(args)
	var words []string
	for _, raw := range append([]json.RawMessage{command}, elements...) {
		word := printableText(raw)
		if _, ok := wire.Unquote(raw); ok && word[0] != '"' {
			word = show.ShellWord(word)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// printableText returns a value as readable text. Invisible characters are escaped.
func printableText(raw json.RawMessage) string {
	text, ok := wire.Unquote(raw)
	switch {
	case !ok:
		return string(show.EscapeHarmful(raw))
	case text == "" || strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }):
		return strconv.Quote(text)
	}
	return text
}

// memberText returns the value of a member. In a user's own row, it masks a value with the name or the form of a
// secret.
func memberText(name string, raw json.RawMessage, fromProject bool) string {
	value, ok := wire.Unquote(raw)
	if fromProject || !ok {
		return printableText(raw)
	}
	return secret.Named(name, value)
}

// namedValues returns the members of an object as texts, with is between name and value.
func namedValues(raw json.RawMessage, separator string, fromProject bool) []string {
	members, _ := wire.Members(raw)
	var out []string
	for _, m := range members {
		out = append(out, printableText(text.Quote(m.Key))+separator+memberText(m.Key, m.Value, fromProject))
	}
	return out
}

// boxText returns what a person should know of a command's sandbox.
func boxText(box string) string {
	if box == "off" {
		return "off: it may reach everything that you may"
	}
	return box
}

// String returns a text that is safe on a terminal. Each value has its own line, so that none can look like another.
func (w *heldServer) String() string {
	var p show.Page
	p.Printf("%s  %s:%d: %s\n", show.ShellWord(show.Clean(w.Server)), w.File, w.Line, w.Reason)
	verb := "runs"
	if w.row.Kind != config.KindStdio {
		verb = "calls"
	}
	lines := func(label string, values ...string) {
		for _, v := range values {
			if v != "" {
				p.Printf("  %-8s %s\n", label, v)
			}
		}
	}
	lines(verb, w.Runs)
	lines("host", w.Hosts...)
	lines("in", w.Cwd)
	lines("env", w.Env...)
	lines("envFile", w.EnvFile)
	if w.Inherits {
		lines("and", "the whole environment of indus")
	}
	lines("headers", w.Headers...)
	lines("oauth", w.SignIn...)
	lines("tls", w.TLS...)
	lines("passes", w.Forwards...)
	lines("box", boxText(w.Box))
	lines("", command.BoxLines(w.Sandbox)...)
	lines("tools", string(show.EscapeHarmful(w.Tools)))
	lines("setting", w.Settings...)
	for _, f := range w.Files {
		if lines("file", f.Path); f.Wrong != "" {
			lines("", "  "+f.Wrong)
			continue
		}
		for line := range strings.Lines(f.Text) {
			lines("", "  "+printableText(text.Quote(strings.TrimSuffix(line, "\n"))))
		}
	}
	return p.String()
}
