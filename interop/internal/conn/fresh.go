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

// maxFreshAge is the age after which an empty directory of a dead indus process is removed. It is long, because the
// process may run in another container.
const maxFreshAge = 24 * time.Hour

// freshDir creates the directory of a server that starts in a new one. For other servers it returns "". The name begins
// with the process id, so that directories of killed processes are recognised.
func freshDir(s Command) (string, error) {
	switch {
	case !s.Fresh:
		return "", nil
	case !filepath.IsAbs(s.Dir): // "" would be the temporary directory of the system, which other users can write
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
		if err == nil && infoErr == nil && e.IsDir() && time.Since(info.ModTime()) > maxFreshAge && !processLives(pid) {
			removeFresh(filepath.Join(s.Dir, e.Name()))
		}
	}
	return os.MkdirTemp(s.Dir, strconv.Itoa(os.Getpid())+"-*")
}

// removeFresh removes an empty directory.
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
