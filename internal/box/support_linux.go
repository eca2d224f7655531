package box

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"unsafe"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// The first Landlock ABIs that can do something.
const (
	abiRefer    = 2 // renames and links between directories
	abiTruncate = 3
	abiPorts    = 4 // TCP ports
	abiScopes   = 6 // signals and abstract sockets
)

// kernel is what a kernel offers to confine processes.
type kernel struct {
	release  string
	abi      int  // of Landlock; 0 is none
	disabled bool // Landlock is compiled in and switched off
	filters  bool // seccomp filters for this processor
	notifies bool // seccomp filters can ask another process
	limits   bool // there is a cgroup that we may divide
}

// ownKernel returns what the running kernel offers.
var ownKernel = sync.OnceValue(func() kernel {
	var name unix.Utsname
	_ = unix.Uname(&name)
	k := kernel{release: unix.ByteSliceToString(name.Release[:])}
	var err error
	if k.abi, err = ll.LandlockGetABIVersion(); err != nil {
		k.abi, k.disabled = 0, errors.Is(err, unix.EOPNOTSUPP)
	}
	k.filters = filterArch != 0 && hasAction(unix.SECCOMP_RET_ERRNO)
	// pidfd_getfd (5.6) is younger than notifications (5.0), and the broker needs both.
	_, err = unix.PidfdGetfd(-1, 0, 0)
	k.notifies = k.filters && hasAction(unix.SECCOMP_RET_USER_NOTIF) && !errors.Is(err, unix.ENOSYS)
	k.limits = limitParent() != ""
	return k
})

// hasAction reports whether a seccomp filter may return an action.
func hasAction(action uint32) bool {
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return errno == 0
}

// Supported returns the parts of a sandbox that this system can enforce.
func Supported() Support { return ownKernel().support() }

// version returns the release without the words of the distribution, such as "6.1".
func (k kernel) version() string {
	parts := strings.FieldsFunc(k.release, func(r rune) bool { return r < '0' || r > '9' })
	if len(parts) < 2 {
		return k.release
	}
	return parts[0] + "." + parts[1]
}

func (k kernel) support() Support {
	s := Support{Files: k.abi > 0, Calls: k.filters, Hosts: k.notifies, Signals: k.abi >= abiScopes, Limits: k.limits}
	this := "this kernel (" + k.version() + ")"
	switch {
	case k.abi == 0 && k.disabled:
		s.Missing = "Landlock is switched off in " + this + `: add "landlock" to its boot parameter lsm=`
	case k.abi == 0:
		s.Missing = this + " has no Landlock"
	case !k.filters && filterArch == 0:
		s.Missing = "system calls of this processor cannot be filtered"
	case !k.filters:
		s.Missing = this + " has no seccomp filters"
	case !k.notifies:
		s.Missing = this + " cannot decide on single hosts"
	case !s.Signals:
		s.Missing = fmt.Sprintf("%s has Landlock ABI %d, and signals are kept inside from ABI %d on",
			this, k.abi, abiScopes)
	}
	return s
}

// refusal returns why a process must not start, or nil.
func (k kernel) refusal(b *Box) *Unenforced {
	s := k.support()
	switch {
	case !s.Files || !s.Calls || !s.Hosts && b.Broker != nil:
		return &Unenforced{Reason: s.Missing, Advice: adviceOptional}
	case os.Geteuid() == 0 && b.User == "":
		return &Unenforced{Reason: "a sandbox of root is none", Advice: `Set "user", or run indus as a user`}
	}
	return nil
}
