package servers

import (
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/spf13/cobra"
)

// Commands are the commands about configured servers.
func Commands(s show.Streams) []*cobra.Command {
	return []*cobra.Command{
		newLs(s), newAdd(s), newRemove(s), newEnable(s), newDisable(s), newGet(s), newApprove(s), newImport(s), newExport(s), newLogin(s), newLogout(s),
	}
}
