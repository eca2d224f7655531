package command

import (
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/mcpconfig"
)

// StatePath returns the path of a file or directory of indus's own state, or "" if there is no state directory.
func StatePath(name string) string {
	dir := mcpconfig.StateDir(nil)
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, name)
}

// ApprovalsPath returns the path of the file of calls that wait for approval, or "".
func ApprovalsPath() string { return StatePath("call-approvals.json") }

// IsBelow reports whether a path is a directory or is inside it.
func IsBelow(path, dir string) bool {
	for at := atomicfile.Real(path); ; at = filepath.Dir(at) {
		if SameDirectory(dir, at) {
			return true
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}

// HomeDirectories returns the user's home directories: from the environment, and from the system's user database.
func HomeDirectories() (homes []string) {
	if home, err := os.UserHomeDir(); err == nil && filepath.IsAbs(home) {
		homes = append(homes, home)
	}
	if u, err := user.Current(); err == nil && filepath.IsAbs(u.HomeDir) {
		homes = append(homes, u.HomeDir)
	}
	// A user without a home has "/".
	return slices.DeleteFunc(homes, func(home string) bool { return home == filepath.Dir(home) })
}

// SameDirectory reports whether two paths name the same directory, which need not exist.
func SameDirectory(own, dir string) bool {
	return strings.EqualFold(own, dir) || strings.EqualFold(atomicfile.Real(own), dir) || SameFile(own, dir)
}

// SameFile reports whether two paths lead to one existing file.
func SameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}
