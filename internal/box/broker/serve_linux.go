package broker

import (
	"context"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// notification is struct seccomp_notif.
type notification struct {
	id    uint64
	tid   uint32 // 0 for a thread that is outside of our namespace
	flags uint32
	call  int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

// response is struct seccomp_notif_resp.
type response struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// ioctlValid is SECCOMP_IOCTL_NOTIF_ID_VALID with the direction that all kernels know.
const ioctlValid = 0x80082102

// Serve answers the notifications of a seccomp filter until no process has the filter, or until Close. It closes the
// listener. Then connect and listen fail with ENOSYS in the processes that are left.
func (b *Broker) Serve(listener *os.File) {
	done := make(chan struct{})
	if !b.start(func() { <-done }) {
		_ = listener.Close()
		return
	}
	defer close(done)
	b.serve(listener)
}

func (b *Broker) serve(listener *os.File) {
	defer listener.Close()
	var calls sync.WaitGroup
	defer calls.Wait() // they use the number of the descriptor
	fd := int(listener.Fd())
	w, err := newWaiter(fd, unix.EPOLLIN)
	if err != nil {
		return
	}
	defer context.AfterFunc(b.ctx, w.close)()
	defer w.close()
	busy := make(chan struct{}, maxCalls)
	for {
		events, err := w.wait(0)
		if err != nil || events&unix.EPOLLIN == 0 { // EPOLLHUP: no process is left
			return
		}
		select {
		case busy <- struct{}{}:
		case <-b.ctx.Done():
			return
		}
		var n notification
		if err := ioctl(fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); err != nil {
			<-busy
			if err == unix.EINTR || err == unix.ENOENT { // ENOENT: the thread was killed meanwhile
				continue
			}
			return
		}
		calls.Go(func() {
			defer func() { <-busy }()
			b.answer(fd, &n)
		})
	}
}

// answer handles one notification.
func (b *Broker) answer(listener int, n *notification) {
	c := &call{b: b, listener: listener, id: n.id, tid: int(n.tid), args: n.args, sock: -1}
	var err error
	switch {
	case n.tid == 0:
		err = unix.EACCES
	case n.call == unix.SYS_CONNECT:
		err = c.connect()
	case n.call == unix.SYS_LISTEN:
		err = c.listen()
	default:
		err = unix.ENOSYS
	}
	c.close() // before the process goes on: it may close the socket, and use its port again
	r := response{id: n.id, errno: -int32(errnoOf(err))}
	_ = ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r)) // ENOENT: the thread does not wait any more
}

// errnoOf returns the number of an error of connect. Errors without a number deny.
func errnoOf(err error) unix.Errno {
	if err == nil {
		return 0
	}
	if number, ok := err.(unix.Errno); ok {
		return number
	}
	return unix.EACCES
}

func ioctl(fd int, request uintptr, argument unsafe.Pointer) error {
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(argument)); e != 0 {
		return e
	}
	return nil
}

// callsRepeat reports whether a signal can interrupt connect after its notification arrived here. Before Linux 5.19 the
// process then repeats the call, whether or not the socket is connected already. A filter without a program fails with
// EINVAL if its flags are unknown.
func callsRepeat() bool {
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, 0)
	return e == unix.EINVAL
}

// errorOfRepetition returns the error of a call that may be a repetition.
func errorOfRepetition(err error) error {
	switch err {
	case unix.EISCONN:
		return nil
	case unix.EALREADY:
		return unix.EINPROGRESS
	}
	return err
}
