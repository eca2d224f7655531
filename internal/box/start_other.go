//go:build !linux

package box

import "os"

// Start returns an [Unenforced] error, or starts the process unconfined if the sandbox is optional.
func (b *Box) Start(path string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	if !b.Optional {
		return nil, &Unenforced{Reason: Supported().Missing, Advice: adviceOptional}
	}
	return os.StartProcess(path, argv, attr)
}

// Support returns the parts of a sandbox that can be enforced for b: none.
func (b *Box) Support() Support { return Supported() }
