//go:build !unix

package approvals

import "io/fs"

// isOurs: the mode and the owner say nothing here.
func isOurs(fs.FileInfo) bool { return true }
