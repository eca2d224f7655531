package protocol

import (
	"fmt"
	"strings"

	"github.com/indusagi/indus/internal/text"
)

// Limits in bytes of the instructions of servers for a client's model: of each server, and of all together.
const (
	maxInstructions    = 4 << 10
	maxAllInstructions = 16 << 10
)

// Saying holds the instructions of one server.
type Saying struct {
	Server string
	Of     string // the kind of things that they are about: "tools"
	Prefix string // prefix of the names of these things
	Text   string // "" if there are none
}

// JoinInstructions joins the instructions of several servers, each under the name of its server. They are
// quoted so that no server can pose as another.
func JoinInstructions(all []Saying) string {
	var b strings.Builder
	for _, s := range all {
		says, _ := text.Visible(text.Lines(s.Text))
		if says = strings.TrimSpace(says); says == "" {
			continue
		}
		if b.Len() > maxAllInstructions {
			b.WriteString("\n\nFurther servers have instructions, which are left out.")
			break
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		fmt.Fprintf(&b, "The server %q says of its %s, whose names here begin with %q:\n> %s", s.Server, s.Of, s.Prefix,
			strings.ReplaceAll(text.Clip(says, maxInstructions), "\n", "\n> "))
	}
	return b.String()
}
