package history

import (
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/spf13/cobra"
)

// Commands are the commands about what happened to tools.
func Commands(s show.Streams) []*cobra.Command {
	return []*cobra.Command{newLog(s), newAccept(s), newVerify(s), newWatch(s)}
}
