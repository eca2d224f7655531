//go:build !unix

package atomicfile

import (
	"io/fs"
	"os"
)

func keepOwner(*os.File, fs.FileInfo) {}

// IsOwn returns true, because there is no owner to check on this system.
func IsOwn(fs.FileInfo) bool { return true }

func isOfRoot(fs.FileInfo) bool { return false }
