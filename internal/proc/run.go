package proc

import (
	"context"
	"errors"
	"io"
	"os"
	"reflect"
)

// Run runs a command until it ends and returns its exit status. For a killed command the status is 128 and the signal's
// number, as in a shell. A status other than 0 is not an error. err reports that the command did not start, that a
// writer failed, or that the context ended. If the context ends, the whole group ends too: SIGTERM, Grace.Term,
// SIGKILL.
//
// A nil stdin is empty, and an error of its Read ends it. A nil writer discards the output. If stdout and stderr are
// the same writer, one goroutine writes both to it in the original order. An [os.File] is passed to the command
// directly.
//
// Processes that the command leaves in its session end with it. Processes that leave the session too are strays, see
// [Strays]. Run waits for the writers. It waits neither for processes outside the group that hold the pipes, nor for a
// stdin with a blocked Read: that goroutine ends when Read returns.
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
	defer s.closeChildEnds()
	copies := p.connect(&s, stdin, stdout, stderr)
	if err := p.launch(ctx, c, &s, true, strays); err != nil {
		s.closeParentEnds()
		return -1, err
	}
	s.closeChildEnds()
	if p.mark != "" {
		processWatcher.remove(p.mark) // processes that leave the session may live on: agents, daemons
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
	go p.supervise(func() { drain(p.outputs...) })
	select {
	case <-p.done:
	case <-ctx.Done():
		err = ctx.Err()
		p.terminate()
		p.finish()
		drain(p.outputs...) // in case the command hangs in the kernel
	}
	for range copies {
		if failed := <-results; err == nil {
			err = failed
		}
	}
	waitFor(fed, drainWait)
	return p.status(), err
}

// connect opens the pipes that Run needs, and returns the functions that copy from them.
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
		p.outputs = append(p.outputs, end)
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

// feed copies the command's input. It is no fault if the command does not read all of it.
func (p *Process) feed(stdin io.Reader) {
	if p.stdin == nil {
		return
	}
	defer p.stdin.Close()
	io.Copy(p.stdin, stdin)
}

// copyOutput copies a command's output until its end and closes the pipe, so that the command gets an error if the
// writer has failed.
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

// status returns the exit status as a shell does, or -1 if there is none.
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

// sameWriter reports whether two writers are the same.
func sameWriter(a, b io.Writer) bool {
	return a != nil && b != nil && reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}
