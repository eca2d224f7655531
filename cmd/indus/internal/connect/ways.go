package connect

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/mcpconfig"
)

// TokenVariable is the environment variable in which a client finds its token, if the token is not in its file.
const TokenVariable = "INDUS_TOKEN"

// Way holds the ways to connect one client. A way that the client does not have is "".
type Way struct {
	Client string `json:"client"`
	Title  string `json:"title"`
	// Line is a command line of the client itself.
	Line string `json:"line,omitempty"`
	// Link opens the client, which then asks its user.
	Link string `json:"link,omitempty"`
	// Bundle is the page that has the MCP bundle, which the client installs.
	Bundle string `json:"bundle,omitempty"`
	// File is the user's own file and Project the file of a project. A path below the home begins with "~".
	File    string `json:"file,omitempty"`
	Project string `json:"project,omitempty"`
	// Text is a complete file that has the entry only.
	Text string `json:"text,omitempty"`
	// Notes are about parts that the client would read in another way, or why there is no way.
	Notes []string `json:"notes,omitempty"`
}

// NewEntry returns the entry for a gateway at a URL such as "http://127.0.0.1:7332/mcp", or for one of its views. The
// view is "" for all servers, or as in the path after /mcp/: a server, or @NAME. Set Token or Bearer if the gateway
// authenticates its clients.
func NewEntry(address, view string) (mcpconfig.Entry, error) {
	e := mcpconfig.Entry{ID: "indus", URL: address}
	if view == "" {
		return e, nil
	}
	u, err := url.Parse(address)
	if err != nil {
		return e, err
	}
	e.ID += "-" + strings.TrimPrefix(view, "@")
	e.URL = u.JoinPath(url.PathEscape(view)).String()
	return e, nil
}

// Ways returns the ways to give an entry to each client, in alphabetical order. A client without any way has a note.
func Ways(e mcpconfig.Entry) []Way {
	var out []Way
	for _, c := range mcpconfig.Clients() {
		out = append(out, wayOf(c, e))
	}
	return out
}

func wayOf(c mcpconfig.Client, e mcpconfig.Entry) Way {
	w := Way{Client: c.Name, Title: c.Title}
	anywhere := &mcpconfig.Options{
		Dir: "project", Home: "~", XDG: "~/.config", Env: func(string) (string, bool) { return "", false },
	}
	project, user := c.SplitFiles(anywhere)
	if len(user) > 0 {
		w.File = filepath.ToSlash(user[0])
	}
	if len(project) > 0 {
		root, _ := filepath.Abs(anywhere.Dir)
		if rel, err := filepath.Rel(root, project[0]); err == nil {
			w.Project = filepath.ToSlash(rel)
		}
	}
	text, notes, err := mcpconfig.Export(c.Name, e, nil)
	if err != nil {
		w.Notes = []string{err.Error()}
		return w
	}
	for _, n := range notes {
		w.Notes = append(w.Notes, n.String())
	}
	if len(project)+len(user) == 0 {
		w.Notes = append(w.Notes, c.Title+" has no file that indus knows: put the entry into its configuration")
	}
	w.Text = string(text)
	w.Line, w.Link = lineOf(c.Name, e, text), linkOf(c.Name, e, text)
	// The bundle reads the user's own configuration, not --mcp.
	if c.Name == "claude-desktop" && e.Command != "" && !slices.Contains(e.Args, "--mcp") {
		w.Bundle = command.ReleasesPage
	}
	return w
}

// lineOf returns the command line by which a client adds a server, or "".
func lineOf(client string, e mcpconfig.Entry, text []byte) string {
	id, at, words := show.ShellWord(e.ID), show.ShellWord(e.URL), show.ShellWord(e.Command)
	for _, arg := range e.Args {
		words += " " + show.ShellWord(arg)
	}
	header, variable := "", ""
	switch {
	case e.Bearer != "":
		header = ` --header "Authorization: Bearer ` + e.Bearer + `"`
	case e.Token != "":
		header = ` --header "Authorization: Bearer ${` + e.Token + `}"`
		variable = " --bearer-token-env-var " + e.Token
	}
	switch isURL := e.Command == ""; {
	case client == "claude-code" && isURL:
		return "claude mcp add --transport http --scope user " + id + " " + at + header
	case client == "claude-code":
		return "claude mcp add --scope user " + id + " -- " + words
	case (client == "gemini-cli" || client == "qwen-code") && isURL:
		program, _, _ := strings.Cut(client, "-")
		return program + " mcp add --transport http --scope user " + id + " " + at + header
	case client == "factory" && isURL:
		return "droid mcp add " + id + " " + at + " --type http" + header
	case client == "codex" && isURL && e.Bearer == "": // it takes only the name of a variable
		return "codex mcp add " + id + " --url " + at + variable
	case client == "codex" && !isURL:
		return "codex mcp add " + id + " -- " + words
	case client == "vscode":
		return "code --add-mcp " + show.ShellWord(namedRow(e.ID, text))
	}
	return ""
}

// linkOf returns the link that adds a server to a client, or "".
func linkOf(client string, e mcpconfig.Entry, text []byte) string {
	config := base64.StdEncoding.EncodeToString(rowIn(e.ID, text))
	switch client {
	case "vscode": // https://code.visualstudio.com/api/extension-guides/ai/mcp#create-an-mcp-installation-url
		return "vscode:mcp/install?" + escape(namedRow(e.ID, text))
	case "cursor": // https://cursor.com/docs/mcp/install-links
		return "cursor://anysphere.cursor-deeplink/mcp/install?name=" + escape(e.ID) + "&config=" + escape(config)
	case "lmstudio": // https://lmstudio.ai/docs/app/mcp/deeplink
		return "lmstudio://add_mcp?name=" + escape(e.ID) + "&config=" + escape(config)
	}
	return ""
}

// escape escapes a value of a query as encodeURIComponent does, with "%20" for a space.
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// rowIn returns the server in the text of a file that has no other.
func rowIn(id string, text []byte) []byte {
	var file map[string]map[string]json.RawMessage
	var row bytes.Buffer
	if json.Unmarshal(text, &file) == nil {
		for _, servers := range file {
			_ = json.Compact(&row, servers[id])
		}
	}
	return row.Bytes()
}

// namedRow returns the server in the text of a file, with its name as the first member.
func namedRow(id string, text []byte) string {
	name, _ := json.Marshal(id)
	return `{"name":` + string(name) + "," + strings.TrimPrefix(string(rowIn(id, text)), "{")
}
