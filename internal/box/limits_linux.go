package box

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const cgroupRoot = "/sys/fs/cgroup"

// limitParent returns the closest cgroup above our own in which we may create cgroups with limits of memory and
// processes, or "".
func limitParent() string {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	path, ok := strings.CutPrefix(strings.TrimSpace(string(own)), "0::") // with cgroup v2 alone it is the only line
	if !ok {
		return ""
	}
	for dir := filepath.Join(cgroupRoot, path); strings.HasPrefix(dir, cgroupRoot+"/"); {
		dir = filepath.Dir(dir)
		enabled, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
		if err != nil {
			return ""
		}
		controllers := strings.Fields(string(enabled))
		if slices.Contains(controllers, "memory") && slices.Contains(controllers, "pids") &&
			unix.Access(dir, unix.W_OK) == nil && unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK) == nil {
			return dir
		}
	}
	return ""
}
