package tools

import (
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/spf13/cobra"
)

// Commands are the commands about the servers' tools.
func Commands(s show.Streams) []*cobra.Command {
	return []*cobra.Command{newTools(s), newCall(s), newLint(s)}
}
