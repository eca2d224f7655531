// Package foreign knows the formats in which other programs keep their MCP servers. It turns their rows into indus's
// own rows, and writes one entry, indus itself, in their formats. It reads and makes trees: it opens no file and looks
// up no variable.
package foreign

import (
	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// Native is the name of indus's own format.
const Native = "indus"

// Place is the place of a file and the directories of its user.
type Place struct {
	// OS has the values of [runtime.GOOS].
	OS string
	// Path is the absolute path of the file.
	Path string
	// Dir is the project's directory, absolute.
	Dir string
	// Home and Config are the user's home and configuration directory. They are "" if unknown.
	Home, Config string
	// Moving is set if the rows are for another file.
	Moving bool
	// Env looks up variables that move a client's files, such as CLAUDE_CONFIG_DIR.
	Env func(name string) (string, bool)
}

// File is the content of a client's file, in the format of indus.
type File struct {
	Client string
	Rows   []Row
	// Notes are about the file as a whole.
	Notes []tree.Note
}

// Row is one server.
type Row struct {
	ID string
	// At is the offset at which it begins.
	At int
	// First gives the row precedence over the rows of other files. A client may keep a user's servers for one project
	// in the same file as the user's servers for all projects.
	First bool
	// Value is an object in the format of indus. Every value in it has the offset of the client's value that it comes
	// from.
	Value hujson.Value
	// Bad is why the row cannot be used. It is nil if it can.
	Bad *tree.Note
	// Notes are about the parts that were changed or not taken over.
	Notes []tree.Note
}

// dialect is the format in which one client writes servers. If a key is "", the client does not have it. If it has
// several words, the first is the key that is written, and the others are read too.
type dialect struct {
	name, title string
	syntax      tree.Syntax
	// paths holds the paths of names from the root to the servers. The first is used for writing if the file has none.
	// An empty path is the root itself.
	paths [][]string
	// idKey is set if the servers are a list: the member of a server that has its id.
	idKey string
	// begin holds the other members that an empty file must have.
	begin []field

	command, args, env, envFile, cwd, url, headers string
	// joined is set if command and args are one list, in command.
	joined bool
	// cutsLine is set if a command without args is a line that is split at its spaces.
	cutsLine bool
	// sseURL is the key for the url of an SSE server, if there is such a key.
	sseURL string
	// headersIn is the object in which headers are written, if they are not in the row itself.
	headersIn string
	// headerLines is set if headers are a list of lines "NAME: VALUE".
	headerLines bool
	// kind is the key of the transport. stdio and http are its words for two transports. If a word is "", it is not
	// written.
	kind, stdio, http string
	// commandsOnly is set if the client cannot reach a server that has a url.
	commandsOnly      bool
	enabled, disabled string
	allow, deny       string
	// emptyIsAll is set if an empty list in allow is every tool, and not none. starIsAll is set if "*" is every tool
	// and there must be a list.
	emptyIsAll, starIsAll bool
	timeouts              []timeout
	// extraRules has rules for other keys, or other rules for the keys above.
	extraRules map[string]rule
	// forwardedVars is the key for names of variables that the server gets. headerVars is the key for headers: their
	// values are names of variables. bearerVar is the key for the name of a token's variable.
	forwardedVars, headerVars, bearerVar string
	// keepsSecrets is set if the client itself stores the values of these variables.
	keepsSecrets bool
	// noEmptyHeaders is set if headers without a value are not sent.
	noEmptyHeaders bool
	// otherKeys maps further words for the keys above to their keys.
	otherKeys map[string]string
	// withoutMeaning maps the effect of leaving keys out to these keys, which indus does not have.
	withoutMeaning map[string]string
	// ignored holds the keys that do not affect how the server runs.
	ignored string

	// vars holds the variables that the client replaces, in the words that formsOf reads. The first of a kind is used
	// for writing.
	vars []string
	// optional is set if the client may start a server although one of its variables is not set.
	optional bool
	// inHeadersOnly is set if variables are replaced in headers only.
	inHeadersOnly bool
	// sections returns further paths to servers, in order of precedence. They come before paths.
	sections func(*reading) [][]string
	// before is called with the file, and after with each row once its keys are read.
	before func(*reading)
	after  func(*serverRow)
	// writtenAt returns the paths for an entry in an existing file. If it is nil, paths is used.
	writtenAt func(into *hujson.Value) [][]string
	// extra returns the members that a written row has beyond the keys above.
	extra func(Entry) []field
	// files are the files of the client; the first wins: see spot. pathEnd has endings of other paths that its files have.
	files, pathEnd string
}

// timeout is a key that bounds some steps.
type timeout struct {
	key   string
	unit  float64  // in seconds
	steps []string // of "timeout"
}

// Known is a client's name and its product name.
type Known struct{ Name, Title string }

// All returns the clients, in alphabetical order, without indus itself.
func All() []Known {
	var out []Known
	for _, d := range dialects() {
		if d.name != Native {
			out = append(out, Known{d.name, d.title})
		}
	}
	return out
}

// Files returns the files in which a client keeps its servers, in order of precedence. A name that begins with "*"
// stands for all files of a directory with that ending.
func Files(client string, p *Place) []string {
	var out []string
	if d := find(client); d != nil {
		for _, s := range d.spots() {
			if file := p.find(s); file != "" {
				out = append(out, file)
			}
		}
	}
	return out
}

// SyntaxOf returns the syntax of a client's files. It is "" for an unknown client.
func SyntaxOf(client string) tree.Syntax {
	if d := find(client); d != nil {
		return d.syntax
	}
	return ""
}

func find(client string) *dialect {
	for _, d := range dialects() {
		if d.name == client {
			return d
		}
	}
	return nil
}
