package proc

import (
	"context"
	"errors"
	"io"
	"os"
	"reflect"
)

// Run runs a command to its end and returns its exit status, 128 and the
// signal's number for one that was killed, as a shell does. A status other than
// 0 is not an error: err says that the command did not start, that the
// context ended (and with it the whole group: SIGTERM, Grace.Term, SIGKILL),
// or that one of the writers failed.
//
// A nil stdin is empty, an error of its Read ends it; a nil writer discards. If stdout and stderr are the
// same writer, it gets both in the order they were written, by one goroutine.
// Processes the command leaves in its session end with it; those that leave the session too are strays, see [Strays]. Run waits for the
// writers, but neither for who holds the pipes from outside the group nor for
// a stdin whose Read blocks: that goroutine ends when Read returns. An
// [os.File] is given to the command as it is.
func Run(ctx context.Context, c Command, stdin io.Reader, stdout, stderr io.Writer) (exit int, err error) {
	p := newProcess(c)
	strays, err := markFor(ctx)
	if err != nil {
		return -1, c.fail(err)
	}
	if strays != "" {
		p.mark = ""
	}
	var s streams
	defer s.closeTheirs()
	copies := p.connect(&s, stdin, stdout, stderr)
	if err := p.launch(ctx, c, &s, true, strays); err != nil {
		s.closeOurs()
		return -1, err
	}
	s.closeTheirs()
	if p.mark != "" {
		processWatcher.remove(p.mark) // what leaves the session may live on: agents, daemons
		p.mark = ""
	}
	results := make(chan error, len(copies))
	for _, copy := range copies {
		go func() { results <- copy() }()
	}
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		p.feed(stdin)
	}()
	go p.supervise(func() { drain(p.ends...) })
	select {
	case <-p.done:
	case <-ctx.Done():
		err = ctx.Err()
		p.terminate()
		p.finish()
		drain(p.ends...) // should it hang in the kernel
	}
	for range copies {
		if failed := <-results; err == nil {
			err = failed
		}
	}
	waitFor(fed, drainWait)
	return p.status(), err
}

// connect opens what Run needs of pipes, and returns what copies from them.
func (p *Process) connect(s *streams, stdin io.Reader, stdout, stderr io.Writer) (copies []func() error) {
	switch in := stdin.(type) {
	case nil:
		s.writer(&s.in).Close()
	case *os.File:
		s.in = in
	default:
		p.stdin = s.writer(&s.in)
	}
	output := func(child **os.File, w io.Writer) {
		end := s.reader(child)
		p.ends = append(p.ends, end)
		copies = append(copies, func() error { return copyOutput(w, end) })
	}
	output(&s.out, stdout)
	if sameWriter(stdout, stderr) {
		s.err = s.out
	} else {
		output(&s.err, stderr)
	}
	return copies
}

// feed copies the command's input. That it does not want all of it is no fault.
func (p *Process) feed(stdin io.Reader) {
	if p.stdin == nil {
		return
	}
	defer p.stdin.Close()
	io.Copy(p.stdin, stdin)
}

// copyOutput copies a command's output to its end and closes it: whoever writes to a
// writer that has failed must hear of it.
func copyOutput(w io.Writer, end *os.File) error {
	defer end.Close()
	if w == nil {
		w = io.Discard
	}
	_, err := io.Copy(w, end)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil // see drain
	}
	return err
}

// status is the exit status as a shell gives it, -1 when there is none.
func (p *Process) status() int {
	select {
	case <-p.done:
	default:
		return -1
	}
	if p.state == nil {
		return -1
	}
	return exitStatus(p.state)
}

// sameWriter reports whether two writers are one.
func sameWriter(a, b io.Writer) bool {
	return a != nil && b != nil && reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}
