package command

import (
	"path/filepath"

	"github.com/indusagi/indus/mcpconfig"
)

// ApprovalsPath returns the path of the file of calls that wait for approval, in the state directory. If there is no
// state directory, it returns "".
func ApprovalsPath() string {
	dir := mcpconfig.StateDir(nil)
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "call-approvals.json")
}
