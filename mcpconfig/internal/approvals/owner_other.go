//go:build !unix

package approvals

import "io/fs"

// isOwn returns true, because there is no owner to check on this system.
func isOwn(fs.FileInfo) bool { return true }
