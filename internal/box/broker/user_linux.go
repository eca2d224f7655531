package broker

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// user is the user and the groups of a thread.
type user struct {
	uid, gid int
	groups   []uint32
}

// statusFields returns the fields of a line of /proc/TID/status.
func statusFields(tid int, name string) []string {
	status, _ := os.ReadFile("/proc/" + strconv.Itoa(tid) + "/status")
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.Fields(value)
		}
	}
	return nil
}

// userOf returns the effective user of a thread.
func userOf(tid int) (user, error) {
	uids, gids := statusFields(tid, "Uid"), statusFields(tid, "Gid")
	if len(uids) < 2 || len(gids) < 2 {
		return user{}, unix.ESRCH
	}
	var u user
	var err error
	if u.uid, err = strconv.Atoi(uids[1]); err != nil {
		return u, unix.ESRCH
	}
	if u.gid, err = strconv.Atoi(gids[1]); err != nil {
		return u, unix.ESRCH
	}
	for _, group := range statusFields(tid, "Groups") {
		n, err := strconv.ParseUint(group, 10, 32)
		if err != nil {
			return u, unix.ESRCH
		}
		u.groups = append(u.groups, uint32(n))
	}
	return u, nil
}

// asItsUser runs a function with the rights of the process. If a gateway of root runs a process as another user, then
// sockets are opened with the rights of that user, and servers see that user.
func (c *call) asItsUser(run func() error) error {
	u, err := userOf(c.tid)
	switch {
	case err != nil || !c.alive():
		return unix.ESRCH
	case u.uid == unix.Geteuid() && u.gid == unix.Getegid():
		return run()
	}
	done := make(chan error, 1)
	onOwnThread(func() {
		if err := u.become(); err != nil {
			done <- unix.EACCES
			return
		}
		done <- run()
	})
	return <-done
}

// onOwnThread runs a function on a thread that ends with it. The main thread cannot end, so it is not used.
func onOwnThread(run func()) {
	go func() {
		runtime.LockOSThread() // never unlocked
		if unix.Gettid() != unix.Getpid() {
			run()
			return
		}
		other := make(chan struct{})
		onOwnThread(func() {
			close(other)
			run()
		})
		<-other
		runtime.UnlockOSThread()
	}()
}

// become changes the user of the calling thread alone.
func (u user) become() error {
	var groups unsafe.Pointer
	if len(u.groups) > 0 {
		groups = unsafe.Pointer(&u.groups[0])
	}
	same := ^uintptr(0)
	for _, step := range [][4]uintptr{
		{unix.SYS_SETGROUPS, uintptr(len(u.groups)), uintptr(groups)},
		{unix.SYS_SETRESGID, same, uintptr(u.gid), same},
		{unix.SYS_SETRESUID, same, uintptr(u.uid), same},
	} {
		if _, _, e := unix.RawSyscall(step[0], step[1], step[2], step[3]); e != 0 {
			return e
		}
	}
	return nil
}
