//go:build unix

package conn

import "syscall"

// atOnce writes to a pipe without waiting. The fields belong to the one writer of the pipe.
type atOnce struct {
	raw   syscall.RawConn
	try   func(fd uintptr) bool // is writeTo, made once
	frame []byte
	n     int
}

// writeAtOnce writes the part of a frame that the pipe takes without waiting, and returns its length. This needs no
// deadline. After a failure the length is 0: an ordinary write explains it. The caller holds f.writing.
func (f *stdio) writeAtOnce(frame []byte) int {
	a := &f.atOnce
	if a.try == nil {
		raw, err := f.p.Stdin().SyscallConn()
		if err != nil {
			return 0
		}
		a.raw, a.try = raw, a.writeTo
	}
	a.frame, a.n = frame, 0
	_ = a.raw.Write(a.try)
	a.frame = nil
	return a.n
}

func (a *atOnce) writeTo(fd uintptr) bool {
	if n, err := syscall.Write(int(fd), a.frame); err == nil {
		a.n = n
	}
	return true
}
