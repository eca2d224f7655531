package describe

import (
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
)

// versionChars is the length of a sum in the name of a version. It is long enough that no server can find two versions
// with the same name, one to be reviewed and one to be accepted.
const versionChars = 32

// ChangedTool is a version of a tool that a person may accept, as JSON has it.
type ChangedTool struct {
	Server   string `json:"server"`
	Tool     string `json:"tool"`
	Name     string `json:"name"`
	Version  string `json:"version"`       // the argument that accepts it
	New      bool   `json:"new,omitempty"` // no version of the tool is approved
	Held     bool   `json:"held"`
	Accepted bool   `json:"accepted"`
	Refused  string `json:"refused,omitempty"` // names the person who refused the held version
	Since    string `json:"since"`
	// Fields holds the differences from the approved version. For a new tool, it holds all members. [ChangedTool.Compare]
	// sets it.
	Fields []ledger.Field `json:"fields,omitempty"`
	Config string         `json:"config"`
	Sum    string         `json:"sum"`
	// Entry is the version for [ledger.Approve].
	Entry ledger.Entry `json:"-"`

	approved ledger.Entry // unless New
}

// ChangedTools returns the tools that a person may accept, without their differences.
func ChangedTools(entries []ledger.Entry) (out []ChangedTool) {
	approved, refused := ledger.Approved(entries), map[command.Version]string{}
	for _, e := range entries {
		if by := e.RefusedBy(); by != "" {
			refused[command.VersionOf(e)] = by
		}
	}
	for _, e := range ledger.Changed(entries) {
		o := ChangedTool{
			Server: e.Server, Tool: e.Tool, Name: e.Name, Version: e.Name + "@" + e.Sum[:min(versionChars, len(e.Sum))],
			Held: e.Op == ledger.Hold, Since: e.At.Format("2006-01-02T15:04:05.000Z07:00"), Config: e.Config, Sum: e.Sum,
			Entry: e,
		}
		before, ok := approved(e)
		o.approved, o.New = before, !ok
		if o.Held {
			o.Refused = refused[command.VersionOf(e)]
		}
		out = append(out, o)
	}
	return out
}

// Compare finds the differences from the approved version. This takes as long as the texts of the tool are.
func (o *ChangedTool) Compare() {
	switch {
	case !o.New:
		o.Fields = Differences(o.approved, o.Entry)
	case o.Entry.Capability != nil:
		o.Fields = ledger.Fields([]byte(`{}`), o.Entry.Capability.Wire.JSON)
	}
}

// State describes the state of the tool, after its name.
func (o *ChangedTool) State() string {
	state := "is live all the same since " + show.Time(o.Entry.At)
	switch {
	case o.Accepted:
		return "is accepted"
	case o.Refused != "":
		state = "is refused " + show.Escaped(o.Refused) + ", and is held back since " + show.Time(o.Entry.At)
	case o.Held:
		state = "is held back since " + show.Time(o.Entry.At)
	}
	if o.New {
		state = "is new, and " + state
	}
	return state
}

// Account returns the account of this process, and the account that used sudo. USER may be missing or false.
func Account() string {
	account := "uid " + strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil {
		account = u.Username + " (uid " + u.Uid + ")"
	}
	if from := os.Getenv("SUDO_USER"); from != "" {
		account += ", through sudo from " + from
	}
	if host, err := os.Hostname(); err == nil {
		account += " on " + host
	}
	return show.Clean(account)
}

// SelectTools returns the tools that the words name. If a word names no tool, it returns a
// usage error.
func SelectTools(all []ChangedTool, words []string) ([]ChangedTool, error) {
	for _, w := range words {
		if !slices.ContainsFunc(all, func(o ChangedTool) bool { return o.matches(w) }) {
			return nil, unknownTool(all, w)
		}
	}
	return slices.DeleteFunc(all, func(o ChangedTool) bool { return !slices.ContainsFunc(words, o.matches) }), nil
}

func (o ChangedTool) matches(word string) bool {
	if name, version, ok := strings.Cut(word, "@"); ok && len(version) >= versionChars {
		return (name == o.Name || name == config.QualifiedName(o.Server, o.Tool)) && strings.HasPrefix(o.Sum, version)
	}
	return word == o.Server || word == o.Name || word == config.QualifiedName(o.Server, o.Tool)
}

func unknownTool(all []ChangedTool, word string) error {
	name, version, pinned := strings.Cut(word, "@")
	if i := slices.IndexFunc(all, func(o ChangedTool) bool { return pinned && o.matches(name) }); i >= 0 {
		return command.Usagef("%s is no longer at version %s: it is %s; look at the changes again", name, version,
			all[i].Version)
	}
	known := slices.Concat(show.Names(all, func(o ChangedTool) string { return o.Name }),
		show.Names(all, func(o ChangedTool) string { return o.Server }))
	slices.Sort(known)
	return command.Usagef("no tool %q is other than it was approved%s", word,
		command.DidYouMean(word, slices.Compact(known)))
}
