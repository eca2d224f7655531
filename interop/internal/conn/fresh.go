package conn

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// staleFresh is the age from which an empty directory of a process of indus that is gone is
// removed. It is long, for the process may be one of another container.
const staleFresh = 24 * time.Hour

// freshDir makes the directory of a server that starts in a new one, and is "" for others.
// Its name begins with our process id, so that those which a killed process left can be recognised.
func freshDir(s Command) (string, error) {
	switch {
	case !s.Fresh:
		return "", nil
	case !filepath.IsAbs(s.Dir): // "" would be the system's directory for temporary files, where others write
		return "", fmt.Errorf("no directory for its own to be in: %q", s.Dir)
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return "", err
	}
	entries, _ := os.ReadDir(s.Dir)
	for _, e := range entries {
		name, _, _ := strings.Cut(e.Name(), "-")
		pid, err := strconv.Atoi(name)
		info, infoErr := e.Info()
		if err == nil && infoErr == nil && e.IsDir() && time.Since(info.ModTime()) > staleFresh && !processLives(pid) {
			removeFresh(filepath.Join(s.Dir, e.Name()))
		}
	}
	return os.MkdirTemp(s.Dir, strconv.Itoa(os.Getpid())+"-*")
}

// removeFresh removes a directory with nothing in it.
func removeFresh(dir string) {
	if dir != "" {
		_ = os.Remove(dir)
	}
}

func processLives(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = p.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, syscall.EPERM)
}
