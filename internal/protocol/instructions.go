package protocol

import (
	"fmt"
	"strings"

	"github.com/indusagi/indus/internal/text"
)

// What servers may tell a client's model, in bytes: each, and all.
const (
	maxInstructions    = 4 << 10
	maxAllInstructions = 16 << 10
)

// Saying is what one server says of how it is used.
type Saying struct {
	Server string
	Of     string // what of: "tools"
	Prefix string // what the names of that begin with
	Text   string // "": nothing
}

// JoinInstructions is what several servers say, each under its name, quoted so that none can speak as another.
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
