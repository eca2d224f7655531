package atomicfile

import (
	"os"
	"path/filepath"
)

// maxLost is how many steps, of links and directories, may lead to nothing.
const maxLost = 40

// Real is where a path leads by whatever links, absolute, whether or not anything is there.
func Real(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return realWithin(path, maxLost)
}

func realWithin(path string, steps int) string {
	real, err := filepath.EvalSymlinks(path)
	switch {
	case err == nil:
		return real
	case steps == 0 || path == filepath.Dir(path):
		return path
	}
	dir := realWithin(filepath.Dir(path), steps-1)
	path = filepath.Join(dir, filepath.Base(path))
	to, err := os.Readlink(path)
	if err != nil {
		return path
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(dir, to)
	}
	return realWithin(to, steps-1)
}
