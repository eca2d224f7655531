package attack

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/indusagi/indus/internal/box"
)

// attacks returns all rows.
func attacks(s box.Support) []Attack {
	rows := append(fileAttacks(), processAttacks(s)...)
	rows = append(rows, callAttacks()...)
	return append(rows, socketAttacks()...)
}

// fileAttacks are the attempts on files and on /proc.
func fileAttacks() []Attack {
	return []Attack{
		{"read-path", "read a file outside", Denied, func(s *scene) error { return readFile(s.Secret) }},
		{"read-dotdot", "read a file outside through ..", Denied, func(s *scene) error {
			return readFile(homeDir() + "/../../outside/" + filepath.Base(s.Secret))
		}},
		{"read-relative", "change to a directory outside and read there", Denied, func(s *scene) error {
			defer os.Chdir("/")
			if err := os.Chdir(s.Outside); err != nil {
				return err
			}
			return readFile(filepath.Base(s.Secret))
		}},
		{"read-symlink", "read a file outside through a symbolic link", Denied, func(s *scene) error {
			link := inHome("symlink")
			if err := os.Symlink(s.Secret, link); err != nil {
				return err
			}
			return readFile(link)
		}},
		{"read-hardlink", "read a file outside through a hard link", Denied, func(s *scene) error {
			link := inHome("hardlink")
			if err := os.Link(s.Secret, link); err != nil {
				return err
			}
			return readFile(link)
		}},
		{"read-o-path", "read a file outside through a descriptor of its path", Denied, func(s *scene) error {
			fd, err := unix.Open(s.Secret, unix.O_PATH|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return readFile(fmt.Sprintf("/proc/self/fd/%d", fd))
		}},
		{"read-openat", "read a file outside from a descriptor of its directory", Denied, func(s *scene) error {
			dir, err := unix.Open(s.Outside, unix.O_PATH|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(dir)
			fd, err := unix.Openat(dir, filepath.Base(s.Secret), unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err == nil {
				unix.Close(fd)
			}
			return err
		}},
		{"read-handle", "read a file outside by its handle", Denied, func(s *scene) error {
			handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, s.Secret, 0)
			if err != nil {
				return err
			}
			_, err = unix.OpenByHandleAt(unix.AT_FDCWD, handle, unix.O_RDONLY)
			return err
		}},
		{"rename-in", "move a file from outside into the home", Denied, func(s *scene) error {
			return moveAndBack(s.Secret, inHome("moved"))
		}},
		{"rename-out", "move a file from the home to the outside", Denied, func(s *scene) error {
			return os.Rename(newFile("out"), s.Outside+"/out")
		}},
		{"rename-home", "replace the home by a link", Denied, func(*scene) error {
			return moveAndBack(homeDir(), homeDir()+"-old")
		}},
		{"list", "list a directory outside", Denied, func(s *scene) error {
			_, err := os.ReadDir(s.Outside)
			return err
		}},
		{"create", "create a file outside", Denied, func(s *scene) error {
			return os.WriteFile(s.Outside+"/new", nil, 0o600)
		}},
		{"write", "write to a file outside", Denied, func(s *scene) error { return write(s.Secret, os.O_WRONLY) }},
		{"write-readable", "write to a file that may be read", Denied, func(s *scene) error {
			return write(s.Readable, os.O_WRONLY)
		}},
		{"write-linked", "write to a file that may be read, through a hard link", Denied, func(s *scene) error {
			link := inHome("readable")
			if err := os.Link(s.Readable, link); err != nil {
				return err
			}
			return write(link, os.O_WRONLY)
		}},
		{"truncate", "empty a file outside", Denied, func(s *scene) error { return os.Truncate(s.Secret, 0) }},
		{"truncate-readable", "empty a file that may be read, while reading it", Denied, func(s *scene) error {
			return write(s.Readable, os.O_RDONLY|os.O_TRUNC)
		}},
		{"truncate-neither", "empty a file that may be read, opened for neither reading nor writing", Denied,
			func(s *scene) error { return write(s.Readable, unix.O_ACCMODE|os.O_TRUNC) }},
		{"mkdir", "create a directory outside", Denied, func(s *scene) error {
			return os.Mkdir(s.Outside+"/dir", 0o700)
		}},
		{"mkfifo", "create a named pipe outside", Denied, func(s *scene) error {
			return unix.Mkfifo(s.Outside+"/fifo", 0o600)
		}},
		{"symlink-out", "create a link outside", Denied, func(s *scene) error {
			return os.Symlink("/", s.Outside+"/link")
		}},
		{"execute", "execute a program outside", Denied, func(s *scene) error {
			return exec.Command(s.Outside + "/true").Run()
		}},
		{"unlink", "remove a file outside", Denied, func(s *scene) error { return os.Remove(s.Outside + "/true") }},
		{"neighbour", "write to the home of another server", Denied, func(s *scene) error {
			return os.WriteFile(s.Home+"/new", nil, 0o600)
		}},
		{"dev-shm", "write to /dev/shm", Denied, func(*scene) error {
			return os.WriteFile(fmt.Sprintf("/dev/shm/indus-attack-%d", os.Getpid()), nil, 0o600)
		}},
		{"tmp", "write to /tmp", Denied, func(*scene) error {
			return os.WriteFile(fmt.Sprintf("/tmp/indus-attack-%d", os.Getpid()), nil, 0o600)
		}},
		{"disk", "open the disks of the machine", Denied, func(*scene) error { _, err := os.ReadDir("/dev"); return err }},
		{"memfd", "read a file outside by a program in memory", Denied, func(s *scene) error {
			program, err := os.ReadFile("/bin/cat")
			if err != nil {
				return err
			}
			fd, err := unix.MemfdCreate("cat", 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			if _, err := unix.Write(fd, program); err != nil {
				return err
			}
			return exec.Command(fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd), s.Secret).Run()
		}},
		{"inherited", "use a descriptor of the parent", Denied, func(s *scene) error {
			open, err := os.ReadDir("/proc/self/fd")
			for _, fd := range open {
				if target, _ := os.Readlink("/proc/self/fd/" + fd.Name()); target == s.Secret {
					return nil
				}
			}
			return errors.Join(err, errors.New("no descriptor of the secret"))
		}},
		{"chown", "change the owner of a file outside", Denied, func(s *scene) error {
			return os.Chown(s.Secret, os.Getuid(), os.Getgid())
		}},
		{"setxattr", "set an attribute of a file outside", Denied, func(s *scene) error {
			return unix.Setxattr(s.Secret, "user.indus", []byte("1"), 0)
		}},
		{"stat", "see the size and times of a file outside", Reached, func(s *scene) error {
			_, err := os.Stat(s.Secret)
			return err
		}},
		{"chmod", "change the mode of a file outside", Reached, func(s *scene) error { return os.Chmod(s.Secret, 0o644) }},
		{"utime", "change the times of a file outside", Reached, func(s *scene) error {
			return os.Chtimes(s.Secret, time.Unix(1, 0), time.Unix(1, 0))
		}},
		{"inotify", "watch a directory outside for changes", Reached, func(s *scene) error {
			fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			_, err = unix.InotifyAddWatch(fd, s.Outside, unix.IN_ALL_EVENTS)
			return err
		}},
	}
}

// processAttacks are the attempts on other processes by way of files and signals.
func processAttacks(s box.Support) []Attack {
	signal := Denied
	if !s.Signals {
		signal = Reached
	}
	of := func(pid func(*scene) int, file string) func(*scene) error {
		return func(s *scene) error { return readFile(fmt.Sprintf("/proc/%d/%s", pid(s), file)) }
	}
	victim, parent := func(s *scene) int { return s.Victim }, func(s *scene) int { return s.Parent }
	rows := []Attack{
		{"proc-self-root", "read a file outside through /proc/self/root", Denied, func(s *scene) error {
			return readFile("/proc/self/root" + s.Secret)
		}},
		{"proc-root", "read a file outside through the root of another process", Denied, func(s *scene) error {
			return readFile(fmt.Sprintf("/proc/%d/root%s", s.Victim, s.Secret))
		}},
		{"proc-cwd", "list the directory of another process", Denied, func(s *scene) error {
			_, err := os.ReadDir(fmt.Sprintf("/proc/%d/cwd/", s.Victim))
			return err
		}},
		{"proc-cmdline", "read the arguments of another process", Reached, of(victim, "cmdline")},
		{"proc-status", "read the state of another process", Reached, of(victim, "status")},
		{"proc-oom", "make the kernel kill another process first", Denied, func(s *scene) error {
			return os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", s.Victim), []byte("1000"), 0)
		}},
		{"signal", "signal another process", signal, func(s *scene) error { return unix.Kill(s.Victim, 0) }},
		{"signal-parent", "signal the program that started the server", signal, func(s *scene) error {
			return unix.Kill(s.Parent, 0)
		}},
		{"signal-thread", "signal a thread of another process", signal, func(s *scene) error {
			return unix.Tgkill(s.Victim, s.Victim, 0)
		}},
		{"signal-pidfd", "signal another process by a descriptor", signal, func(s *scene) error {
			fd, err := unix.PidfdOpen(s.Victim, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.PidfdSendSignal(fd, 0, nil, 0)
		}},
	}
	for _, file := range []string{"environ", "mem", "maps", "auxv", "stack", "io"} {
		rows = append(rows,
			Attack{"proc-" + file, "read the " + file + " of another process", Denied, of(victim, file)},
			Attack{"parent-" + file, "read the " + file + " of the program that started it", Denied, of(parent, file)})
	}
	for _, dir := range []string{"fd", "ns", "map_files"} {
		rows = append(rows, Attack{"proc-" + dir, "follow a link in the " + dir + " of another process", Denied,
			func(s *scene) error {
				links, err := filepath.Glob(fmt.Sprintf("/proc/%d/%s/*", s.Victim, dir))
				for _, link := range links {
					if _, err = os.Readlink(link); err == nil {
						return nil
					}
				}
				return errors.Join(err, errors.New("no link"))
			}})
	}
	return rows
}

// homeDir returns the private home.
func homeDir() string { return os.Getenv("HOME") }

func inHome(name string) string { return filepath.Join(homeDir(), name) }

// newFile creates a file in the home.
func newFile(name string) string {
	_ = os.WriteFile(inHome(name), nil, 0o600)
	return inHome(name)
}

// moveAndBack renames a file, and back.
func moveAndBack(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return os.Rename(to, from)
}

// readFile reads the start of a file.
func readFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if strings.HasSuffix(path, "/mem") {
		return nil
	}
	buf := make([]byte, 64)
	_, err = file.Read(buf)
	if errors.Is(err, io.EOF) { // an attack before has emptied it
		return nil
	}
	return err
}

// write opens a file with flags.
func write(path string, flags int) error {
	file, err := os.OpenFile(path, flags, 0)
	if err != nil {
		return err
	}
	return file.Close()
}
