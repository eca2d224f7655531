package servers

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/spf13/cobra"
)

const boxField = "sandbox"

// newBox is the sandbox that a new row with a command gets: "" if --sandbox does not name one.
type newBox struct{ word string }

// boxWords are the values of --sandbox.
var boxWords = []string{"package", "strict", "off"}

func (b *newBox) addTo(cmd *cobra.Command, usage string) {
	cmd.Flags().StringVar(&b.word, boxField, "", "BOX  "+usage)
	_ = cmd.RegisterFlagCompletionFunc(boxField, cobra.FixedCompletions(boxWords, cobra.ShellCompDirectiveNoFileComp))
}

func (b *newBox) check() error {
	if b.word == "" || slices.Contains(boxWords, b.word) {
		return nil
	}
	return command.Usagef("--sandbox %s is unknown: it is one of %s", b.word, strings.Join(boxWords, ", "))
}

// boxOf returns the sandbox of a row as it is written, or nil.
func boxOf(row json.RawMessage) json.RawMessage { return memberOf(row, boxField) }

func memberOf(row json.RawMessage, key string) (value json.RawMessage) {
	members, _ := wire.Members(row) // none if it is no object
	for _, m := range members {
		if m.Key == key {
			value = m.Value
		}
	}
	return value
}

// withBox returns a row with a sandbox, or without one if word is "".
func withBox(row json.RawMessage, word string) json.RawMessage {
	members, err := wire.Members(row)
	if err != nil {
		return row
	}
	var out wire.Object
	for _, m := range members {
		if m.Key != boxField {
			out = out.Raw(m.Key, m.Value)
		}
	}
	return out.Text(boxField, word).JSON()
}

// choose returns a new row with its sandbox. Without --sandbox, a command gets "package" if this system can enforce it.
// unboxed is why it does not get one.
func (b *newBox) choose(row json.RawMessage) (out json.RawMessage, unboxed string, err error) {
	var program string
	_ = json.Unmarshal(memberOf(row, "command"), &program) // "" if it is no text
	switch {
	case boxOf(row) != nil && b.word == "": // by --set
		return row, "", nil
	case program == "" && b.word != "":
		return nil, "", command.Usagef("--sandbox is for a command, and a URL is not started")
	case program == "":
		return row, "", nil
	case b.word == "off":
		return row, "", nil
	case (config.Stdio{Command: program}).ActsElsewhere():
		return row, show.ShellWord(program) + " does its work outside of its own process", nil
	case b.word != "":
		return withBox(row, b.word), "", nil
	}
	if reason := command.Unconfinable(); reason != "" {
		return row, reason, nil
	}
	return withBox(row, string(config.Package)), "", nil
}

// isAboutBox reports whether a note is about the sandbox of a row.
func isAboutBox(n mcpconfig.Note) bool { return strings.HasPrefix(n.Reason, `"`+boxField+`" `) }
