package box

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// grants are the files that a process may use, as Landlock takes them.
type grants struct {
	read, write, devices []string
}

// systemDirs are readable in every sandbox: programs, libraries and the settings of the machine.
var systemDirs = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/nix/store", "/gnu/store",
	"/sys/devices/system/cpu", "/sys/fs/cgroup",
}

// systemDevices are readable and writable in every sandbox.
var systemDevices = []string{
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty",
}

// resolve returns the files that a command may use in a directory, and its environment made from env.
func (b *Box) resolve(path string, argv []string, dir string, env []string, owner *syscall.Credential) (
	g grants, _ []string, err error) {
	g = grants{read: slices.Clone(systemDirs), devices: systemDevices, write: outermost(b.Write)}
	if !b.NoProc {
		g.read = append(g.read, "/proc")
	}
	env = slices.Clone(env)
	s := search{path: lastEntry(env, "PATH"), writable: slices.Clone(g.write)}
	s.private = append(s.private, "/tmp", "/var/tmp", "/dev/shm")
	ours, _ := os.UserHomeDir()
	for _, home := range []string{ours, lastEntry(env, "HOME")} {
		if home != "" && home != "/" {
			s.private = append(s.private, filepath.Clean(home))
		}
	}
	if b.Home != "" {
		s.private = append(s.private, filepath.Clean(b.Home))
		home, temp := filepath.Join(b.Home, "home"), filepath.Join(b.Home, "tmp")
		for _, dir := range []string{b.Home, home, temp} {
			if err := privateDir(dir, owner); err != nil {
				return g, nil, fmt.Errorf("sandbox: home: %w", err)
			}
		}
		g.write = append(g.write, home, temp)
		s.writable = append(s.writable, home, temp)
		env = setEnviron(env, "HOME="+home, "TMPDIR="+temp)
	}
	s.program(path)
	s.scripts(append([]string{path}, argv[1:]...), dir)
	g.read = append(g.read, s.found...)
	// A path below a writable one adds nothing now, but the process could make it a link to another place.
	for _, dir := range b.Read {
		if !s.inWritable(dir) {
			g.read = append(g.read, dir)
		}
	}
	slices.Sort(g.read)
	g.read = slices.Compact(g.read)
	return g, env, nil
}

// Allow adds a directory that the next process can write. It becomes that of the process's user.
func (b *Box) Allow(dir string) error {
	owner, err := b.credential()
	if err == nil {
		err = privateDir(dir, owner)
	}
	b.Write = append(slices.Clip(b.Write), dir)
	return err
}

// outermost returns the directories that are in none of the others.
func outermost(dirs []string) (outer []string) {
	clean := make([]string, len(dirs))
	for i, dir := range dirs {
		clean[i] = filepath.Clean(dir)
	}
	slices.Sort(clean)
	for _, dir := range slices.Compact(clean) {
		if !slices.ContainsFunc(outer, func(o string) bool { return isWithin(dir, o) }) {
			outer = append(outer, dir)
		}
	}
	return outer
}

// isWithin reports whether a path is a directory or below it.
func isWithin(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

// setEnviron replaces entries of an environment.
func setEnviron(env []string, entries ...string) []string {
	return append(slices.DeleteFunc(env, func(old string) bool {
		return slices.ContainsFunc(entries, func(entry string) bool {
			name, _, _ := strings.Cut(entry, "=")
			return strings.HasPrefix(old, name+"=")
		})
	}), entries...)
}

// privateDir creates a directory that only its owner can use.
func privateDir(dir string, owner *syscall.Credential) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	fd, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_RDONLY, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(fd)
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return err
	}
	uid, gid := os.Geteuid(), os.Getegid()
	if owner != nil {
		uid, gid = int(owner.Uid), int(owner.Gid)
	}
	if int(info.Uid) != uid {
		if os.Geteuid() != 0 {
			return &fs.PathError{Op: "use", Path: dir, Err: fs.ErrPermission}
		}
		if err := unix.Fchown(fd, uid, gid); err != nil {
			return &fs.PathError{Op: "chown", Path: dir, Err: err}
		}
	}
	if info.Mode&0o777 != 0o700 {
		return unix.Fchmod(fd, 0o700)
	}
	return nil
}

// credential returns the user of the process, or nil if it is our own.
func (b *Box) credential() (*syscall.Credential, error) {
	if b.User == "" {
		return nil, nil
	}
	uid, gid := b.User, ""
	if known, err := user.Lookup(b.User); err == nil {
		uid, gid = known.Uid, known.Gid
	} else if known, err := user.LookupId(b.User); err == nil {
		gid = known.Gid
	}
	id, err := strconv.ParseUint(uid, 10, 31)
	if err != nil {
		return nil, &Unenforced{Reason: fmt.Sprintf("there is no user %q", b.User)}
	}
	group, err := strconv.ParseUint(gid, 10, 31)
	if err != nil {
		group = id
	}
	switch {
	case int(id) == os.Geteuid() && id != 0:
		return nil, nil
	case os.Geteuid() != 0:
		return nil, &Unenforced{Reason: "only root can run it as user " + b.User}
	case id == 0:
		return nil, &Unenforced{Reason: `a sandbox of root is none. Set another "user"`}
	}
	return &syscall.Credential{Uid: uint32(id), Gid: uint32(group), Groups: []uint32{}}, nil
}
