package box

import (
	"os"

	"golang.org/x/sys/unix"
)

// Kernel describes a kernel for tests.
type Kernel struct {
	Release           string
	ABI               int
	Disabled          bool
	Filters, Notifies bool
}

func (k Kernel) internal() kernel {
	return kernel{release: k.Release, abi: k.ABI, disabled: k.Disabled, filters: k.Filters, notifies: k.Notifies}
}

// On makes a box use what a kernel offers, and no more.
func (b *Box) On(k Kernel) *Box {
	emulated := k.internal()
	b.emulated = &emulated
	return b
}

// Support returns what can be enforced on a kernel.
func (k Kernel) Support() Support { return k.internal().support() }

// OwnABI returns the Landlock ABI of this kernel.
func OwnABI() int { return ownKernel().abi }

// Filter returns the seccomp filter for a kernel.
func (k Kernel) Filter(broker bool) []unix.SockFilter { return k.internal().filter(broker) }

// Resolve returns the paths that a command may read and write.
func (b *Box) Resolve(path string, argv []string, dir string, env []string) (read, write []string, err error) {
	g, _, err := b.resolve(path, argv, dir, env, nil)
	return g.read, g.write, err
}

// OnOwnThread runs a function on a thread that ends with it.
var OnOwnThread = onOwnThread

// FilterArch is the name of this processor in seccomp.
const FilterArch = filterArch

// Check kills a child that the kernel does not show as confined.
func Check(child *os.Process) error { return (&confinement{filtered: true}).check(child) }

// EnterGroup moves a child into a cgroup of its own below parent.
func (b *Box) EnterGroup(child *os.Process, parent string) error { return b.enterGroup(child, parent) }
