//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package atomicfile

import (
	"io/fs"
	"os"
)

func keepOwner(*os.File, fs.FileInfo) {}

func isOfRoot(fs.FileInfo) bool { return false }
