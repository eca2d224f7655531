package attack

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/indusagi/indus/internal/box"
)

// RunFree attacks without a sandbox.
func RunFree(self []string, b *box.Box) ([]Result, error) {
	return runBy(self, b, func(b *box.Box, path string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
		home := filepath.Join(b.Home, "home")
		if err := os.MkdirAll(home, 0o700); err != nil {
			return nil, err
		}
		attr.Env = append([]string{"HOME=" + home}, attr.Env...)
		if b.User != "" {
			uid, err := strconv.Atoi(b.User)
			if err != nil {
				return nil, err
			}
			for _, dir := range []string{b.Home, home} {
				if err := os.Chown(dir, uid, uid); err != nil {
					return nil, err
				}
			}
			attr.Sys.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}
		}
		return os.StartProcess(path, argv, attr)
	})
}
