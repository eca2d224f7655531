package broker

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// waiter waits for events of a descriptor without a thread. The flags of the descriptor belong to others, so it cannot
// be made non-blocking. An epoll instance can, and the runtime waits for it as for any other file.
type waiter struct{ file *os.File }

func newWaiter(fd int, events uint32) (*waiter, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	err = unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: events})
	if err == nil {
		err = unix.SetNonblock(epoll, true)
	}
	if err != nil {
		_ = unix.Close(epoll)
		return nil, fmt.Errorf("epoll: %w", err)
	}
	return &waiter{os.NewFile(uintptr(epoll), "epoll")}, nil
}

// wait returns the next events. It fails with os.ErrDeadlineExceeded after the limit, if it is not zero, and with
// os.ErrClosed after close.
func (w *waiter) wait(limit time.Duration) (events uint32, err error) {
	if limit != 0 {
		if err := w.file.SetReadDeadline(time.Now().Add(limit)); err != nil {
			return 0, err
		}
	}
	raw, err := w.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		var list [1]unix.EpollEvent
		n, err := unix.EpollWait(int(fd), list[:], 0)
		if err == unix.EINTR || n == 0 && err == nil {
			return false
		}
		events, failed = list[0].Events, err
		return true
	})
	if err == nil {
		err = failed
	}
	return events, err
}

func (w *waiter) close() { _ = w.file.Close() }
