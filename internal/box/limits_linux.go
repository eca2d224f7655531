package box

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

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

// limit bounds a child that has just started. If that fails, the child is killed.
func (b *Box) limit(child *os.Process, owner *syscall.Credential, k kernel) error {
	var err error
	asUser(owner, func() {
		err = setLimit(child, unix.RLIMIT_CORE, 0)
		if err == nil && b.Limits.Files > 0 {
			err = setLimit(child, unix.RLIMIT_NOFILE, uint64(b.Limits.Files))
		}
	})
	if err == nil && k.limits && (b.Limits.Memory > 0 || b.Limits.Processes > 0) {
		err = b.enterGroup(child, limitParent())
	}
	if err == nil || errors.Is(err, unix.ESRCH) { // it has ended already
		return nil
	}
	_ = child.Kill()
	_, _ = child.Wait()
	return fmt.Errorf("sandbox: limits: %w", err)
}

// asUser runs do as another user, on a thread of its own. Root itself may lack the right to limit processes of
// others, as in a container.
func asUser(owner *syscall.Credential, do func()) {
	if owner == nil {
		do()
		return
	}
	onOwnThread(func() {
		_, _, _ = unix.RawSyscall(unix.SYS_SETRESGID, uintptr(owner.Gid), uintptr(owner.Gid), uintptr(owner.Gid))
		_, _, _ = unix.RawSyscall(unix.SYS_SETRESUID, uintptr(owner.Uid), uintptr(owner.Uid), uintptr(owner.Uid))
		do()
	})
}

// setLimit lowers a limit of a process. A limit that is lower already stays.
func setLimit(child *os.Process, resource int, most uint64) error {
	var old unix.Rlimit
	if err := unix.Prlimit(child.Pid, resource, nil, &old); err != nil {
		return err
	}
	most = min(most, old.Max)
	return unix.Prlimit(child.Pid, resource, &unix.Rlimit{Cur: most, Max: most}, nil)
}

// groupPrefix begins the names of our cgroups.
const groupPrefix = "indus-box-"

// enterGroup moves a child into a cgroup of its own below parent, with the processes that it has started by then.
func (b *Box) enterGroup(child *os.Process, parent string) error {
	removeEmptyGroups(parent)
	dir := filepath.Join(parent, groupPrefix+strconv.Itoa(child.Pid))
	if err := os.Mkdir(dir, 0o755); err != nil && !os.IsExist(err) {
		return err
	}
	set := func(file string, value int64) error {
		return os.WriteFile(filepath.Join(dir, file), []byte(strconv.FormatInt(value, 10)), 0)
	}
	if b.Limits.Memory > 0 {
		if err := set("memory.max", b.Limits.Memory); err != nil {
			return err
		}
		_ = set("memory.swap.max", 0) // only with swap
	}
	if b.Limits.Processes > 0 {
		if err := set("pids.max", int64(b.Limits.Processes)); err != nil {
			return err
		}
	}
	for moved := map[int]bool{}; ; {
		fresh := 0
		for _, pid := range descendants(child.Pid) {
			if moved[pid] {
				continue
			}
			moved[pid] = true
			fresh++
			if err := set("cgroup.procs", int64(pid)); err != nil && pid == child.Pid {
				return err
			}
		}
		if fresh == 0 { // later children start inside
			return nil
		}
	}
}

// descendants returns a process and all processes that descend from it.
func descendants(pid int) []int {
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", all[i]))
		for _, task := range tasks {
			children, _ := os.ReadFile(task)
			for field := range strings.FieldsSeq(string(children)) {
				if n, err := strconv.Atoi(field); err == nil {
					all = append(all, n)
				}
			}
		}
	}
	return all
}

// removeEmptyGroups removes the cgroups of processes that have ended. The kernel keeps the others.
func removeEmptyGroups(parent string) {
	old, _ := filepath.Glob(filepath.Join(parent, groupPrefix+"*"))
	for _, dir := range old {
		_ = unix.Rmdir(dir)
	}
}
