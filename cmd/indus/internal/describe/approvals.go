package describe

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/control/approval"
)

// Caller returns the name of a caller.
func Caller(principal string) string { return cmp.Or(principal, "local") }

// Client returns the name of a client, which is only a claim. It is "" if the client has none.
func Client(name string) string {
	if name == "" {
		return ""
	}
	return name + ", as it names itself"
}

// View returns the name of a view.
func View(view string) string { return cmp.Or(view, "all servers") }

// Deciders describes the people who decide.
var Deciders = map[approval.Way]string{
	approval.Caller: "the caller",
	approval.Other:  "another person than the caller",
	approval.Either: "the caller or another person",
}

// Left returns the time that is left of an open approval.
func Left(i *approval.Item) time.Duration { return max(0, time.Until(i.Expires)).Round(time.Second) }

// Decided describes a decision in one line.
func Decided(i *approval.Item) string {
	word := map[bool]string{true: "denied", false: "allowed"}[i.State == approval.Refused]
	return fmt.Sprintf("%s %s: %s of %s, for %s until %s", word, i.ID, ShortName(i.Tool), ShortName(i.Server),
		ShortName(Caller(i.Principal)), show.Time(i.Expires))
}

// ArgumentsSize describes the arguments of a call.
func ArgumentsSize(i *approval.Item) string {
	size := fmt.Sprintf("%s, SHA-256 %s", show.Count(i.Bytes, "byte"), i.Arguments)
	if i.Partial {
		size += ", of which a part is shown"
	}
	return size
}

// ShortName returns a name for the middle of a line.
func ShortName(name string) string {
	return show.ShellWord(show.Cut(strings.TrimSpace(show.Escaped(name)), 60))
}
