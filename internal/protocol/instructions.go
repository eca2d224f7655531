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

// ServerInstructions holds the instructions of one server.
type ServerInstructions struct {
	Server string
	Kind   string // the kind of things that they are about: "tools"
	Prefix string // prefix of the names of these things
	Text   string // "" if there are none
}

// JoinInstructions joins the instructions of several servers, each under the name of its server. They are
// quoted so that no server can pose as another.
func JoinInstructions(all []ServerInstructions) string {
	var b strings.Builder
	for _, s := range all {
		instructions, _ := text.Visible(text.Lines(s.Text))
		instructions = strings.TrimSpace(instructions)
		if instructions == "" {
			continue
		}
		if b.Len() > maxAllInstructions {
			b.WriteString("\n\nFurther servers have instructions, which are left out.")
			break
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		fmt.Fprintf(&b, "The server %q says of its %s, whose names here begin with %q:\n> %s", s.Server, s.Kind, s.Prefix,
			strings.ReplaceAll(text.Clip(instructions, maxInstructions), "\n", "\n> "))
	}
	return b.String()
}
