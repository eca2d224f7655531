//go:build !linux

package box

import (
	"os"
	"slices"
)

// Start returns an [Unenforced] error, or starts the process unconfined if the sandbox is optional.
func (b *Box) Start(path string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	if !b.Optional {
		return nil, &Unenforced{Reason: Supported().Missing, Advice: adviceOptional}
	}
	return os.StartProcess(path, argv, attr)
}

// Allow adds a directory that the next process can write.
func (b *Box) Allow(dir string) error {
	b.Write = append(slices.Clip(b.Write), dir)
	return nil
}

// Support returns the parts of a sandbox that can be enforced for b: none.
func (b *Box) Support() Support { return Supported() }
