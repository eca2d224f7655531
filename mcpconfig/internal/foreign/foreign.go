// Package foreign knows how other programs write down their MCP servers. It turns their
// rows into indus's own, and writes one entry, indus itself, in their words. It reads trees and
// makes trees: no file is opened here, and no variable is looked up.
package foreign

import (
	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// Native is the name of indus's own format.
const Native = "indus"

// Place is where a file stands, and for whom.
type Place struct {
	// OS is as [runtime.GOOS] has it.
	OS string
	// Path of the file, absolute.
	Path string
	// Dir is the project's directory, absolute.
	Dir string
	// Home and Config are the user's home and configuration directory; "" where unknown.
	Home, Config string
	// Moving: the rows are for another file.
	Moving bool
	// Env looks up variables that move a client's files, such as CLAUDE_CONFIG_DIR.
	Env func(name string) (string, bool)
}

// File is what a client's file says, in the words of indus's own.
type File struct {
	Client string
	Rows   []Row
	// Notes are about the file as a whole.
	Notes []tree.Note
}

// Row is one server.
type Row struct {
	ID string
	// At is where it begins.
	At int
	// First: it goes before the rows of other files, because the client keeps what is
	// a user's servers for one project in the same file as those for all.
	First bool
	// Value is an object as indus's own files have it. Every value in it stands where
	// the client's file has what it comes from.
	Value hujson.Value
	// Bad is why the row is of no use; nil where it is.
	Bad *tree.Note
	// Notes say what was changed and what was not taken over.
	Notes []tree.Note
}

// dialect is how one client writes servers. A key that is "" it does not have; of several
// words the first is the key that is written, and the others are read too.
type dialect struct {
	name, title string
	syntax      tree.Syntax
	// where the servers are: paths of names from the root. The first is where they are
	// written if the file has none. An empty path is the root itself.
	where [][]string
	// list: they are written as a list, with the id as "name".
	list bool
	// begin is what else an empty file must have.
	begin []field

	command, args, env, envFile, cwd, url, headers string
	// joined: command and args are one list, in command.
	joined bool
	// cutsLine: a command alone is a line, and cut at its spaces.
	cutsLine bool
	// sseURL is the url of a server that speaks SSE, where that has a key of its own.
	sseURL string
	// headersIn is the object in which headers are written, if they are not in the row itself.
	headersIn string
	// kind is the key of the transport, and the words for two of them; a word that is "" is not written.
	kind, stdio, http string
	// commandsOnly: a server that has a url cannot be reached.
	commandsOnly      bool
	enabled, disabled string
	allow, deny       string
	// emptyIsAll: an empty list in allow is every tool, and not none. starIsAll: so is "*", and
	// there must be a list.
	emptyIsAll, starIsAll bool
	timeouts              []timeout
	// also are rules of other keys, or other rules of those above.
	also map[string]rule
	// handOn are names of variables that the server gets, headerVars headers with the names
	// of variables as their values, bearerVar is that of a token.
	handOn, headerVars, bearerVar string
	// keepsSecrets: the values of those variables are kept by the client itself.
	keepsSecrets bool
	// noEmptyHeaders: headers without a value are not sent.
	noEmptyHeaders bool
	// others are further words of the keys above, for each the key.
	others map[string]string
	// none are keys that have no counterpart, and what not taking them over means.
	none map[string]string
	// quiet are keys that say nothing about how the server runs.
	quiet string

	// vars are the variables that it replaces, in words that formsOf knows. Of one kind the
	// first is written.
	vars []string
	// optional: a variable that is not set need not keep a server from being started.
	optional bool
	// inHeadersOnly: variables are replaced in headers, and nowhere else.
	inHeadersOnly bool
	// sections are more places than where, in the order in which they win.
	sections func(*reading) [][]string
	// before is called with the file, after with each row when its keys are read.
	before func(*reading)
	after  func(*serverRow)
	// writtenAt returns where an entry goes in a file that is there; nil: to where.
	writtenAt func(into *hujson.Value) [][]string
	// extra is what a written row has beyond the keys above.
	extra func(Entry) []field
	// files are those of the client, the first wins: see spot. ends are the ends of other
	// paths that its files have.
	files, ends string
	// readOnly: there is no form to write.
	readOnly bool
}

// timeout is a key that bounds some steps.
type timeout struct {
	key   string
	unit  float64  // in seconds
	steps []string // of "timeout"
}

// Known is a client's name and what its maker calls it.
type Known struct {
	Name, Title string
	Writes      bool
}

// All are the clients, in alphabetical order; indus itself is none.
func All() []Known {
	var out []Known
	for _, d := range dialects() {
		if d.name != Native {
			out = append(out, Known{d.name, d.title, !d.readOnly})
		}
	}
	return out
}

// Files are where a client keeps its servers, the first wins. A name that begins with
// "*" stands for the files of a directory that end so.
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

// SyntaxOf is that of a client's files; "" of a client that is not known.
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
