package interop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/indusagi/indus/internal/proc"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/internal/wire"
)

// exitWait is how long the end of stdout waits for the exit that explains it.
const exitWait = time.Second

// stdioFramer is newline-delimited JSON over the pipes of a child process.
type stdioFramer struct {
	p       *proc.Process
	fresh   string // the directory that is the process's own; "": none
	secrets *secret.Set
	lines   *wire.Lines

	writing chan struct{} // one slot: who writes
	rest    []byte        // of a frame whose writer went away in its middle
	deaf    atomic.Bool   // the server closed its stdin and lived on: we ended it
	closing chan struct{} // closed by close
	once    sync.Once
}

var _ framer = (*stdioFramer)(nil)

// startStdio starts the server's process.
func startStdio(ctx context.Context, s Stdio, o *EndpointOptions, secrets *secret.Set) (*stdioFramer, error) {
	fresh, err := freshDir(s)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Command, err)
	}
	p, err := proc.Start(ctx, proc.Command{
		Path: s.Command, Args: s.Args, Dir: cmp.Or(fresh, s.Dir),
		Env: proc.Environ(os.Environ(), environ(s.Env), s.InheritEnv),
	})
	if err != nil {
		removeFresh(fresh)
		return nil, err
	}
	f := &stdioFramer{
		p: p, fresh: fresh, secrets: secrets, lines: wire.NewLines(o.Trace.stdout(p.Stdout(), secrets), o.MaxMessage).Within(o.Memory),
		writing: make(chan struct{}, 1), closing: make(chan struct{}),
	}
	o.Trace.started(p.Pid(), f.stderr)
	go func() { // a descendant in a session of its own may hold stdout for ever
		<-p.Done()
		_ = p.Stdout().SetReadDeadline(time.Now().Add(exitWait))
	}()
	return f, nil
}

func environ(pairs []Pair) []string {
	out := make([]string, 0, len(pairs))
	for _, p := range pairs {
		out = append(out, p.Name+"="+p.Value.Reveal())
	}
	return out
}

func (f *stdioFramer) read() (wire.Envelope, error) {
	env, err := wire.ReadEnvelope(f.lines)
	var bad *wire.BadFrame
	if err != nil && !errors.As(err, &bad) {
		err = f.exit(err)
	}
	return env, err
}

// exit explains the end of a pipe by how the process ended. It waits a while
// for that, unless we are ending it ourselves.
func (f *stdioFramer) exit(err error) *exitError {
	late := time.NewTimer(exitWait)
	defer late.Stop()
	e := &exitError{pipe: err}
	select {
	case <-f.p.Done():
		e.exited, e.status = true, f.p.Err()
	case <-f.closing:
	case <-late.C:
		e.lives = true
	}
	if f.deaf.Load() && (e.status == nil || signalled(e.status)) {
		e = &exitError{pipe: errDeaf}
	}
	e.stderr = f.stderr()
	return e
}

// stderr is what the server has said there last: servers print what they refuse.
func (f *stdioFramer) stderr() string { return f.secrets.Tail(f.p.Stderr()) }

// exitError is the end of a server's process, or of a pipe to it.
type exitError struct {
	exited bool
	status error // nil where it exited with 0, or has not exited
	lives  bool  // long after its pipe ended
	stderr string
	pipe   error
}

// signalled reports whether a process did not exit by itself.
func signalled(status error) bool {
	var e *exec.ExitError
	return errors.As(status, &e) && e.ExitCode() < 0
}

// errDeaf is the end of a server that went on without its stdin.
var errDeaf = errors.New("the server closed its stdin")

func (e *exitError) Error() string {
	s := e.pipe.Error()
	switch {
	case e.status != nil:
		s = "the server exited: " + e.status.Error()
	case e.exited:
		s = "the server exited"
	case errors.Is(e.pipe, io.EOF), errors.Is(e.pipe, os.ErrDeadlineExceeded):
		s = "the server closed its stdout"
	}
	return s + stderrNote(e.stderr)
}

func (e *exitError) Unwrap() []error {
	return slices.DeleteFunc([]error{e.status, e.pipe}, func(err error) bool { return err == nil })
}

// maxStderrNote is how much of a server's stderr an error shows, in bytes.
const maxStderrNote = 500

// stderrNote shows in an error what a server said last on stderr: from the first
// line on that speaks of an error, for a stack trace may follow, else the end.
func stderrNote(tail string) string {
	shown, says := tail[max(0, len(tail)-maxStderrNote):], "its stderr ends"
	for line := range strings.Lines(tail) {
		if strings.Contains(line, "rror") && len(tail) > maxStderrNote { // Error, error, TypeError
			shown, says = tail[strings.Index(tail, line):], "its stderr says"
			break
		}
	}
	if shown = protocol.Printable(shown, maxStderrNote); shown == "" {
		return ""
	}
	return fmt.Sprintf("; %s: %q", says, shown)
}

// write sends a frame whole. Where ctx ends in the middle of it, the next
// writer sends the rest first, so that the stream stays a stream of messages.
func (f *stdioFramer) write(ctx context.Context, e wire.Envelope) error {
	select {
	case f.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-f.writing }()
	defer f.deadline(ctx)()
	if len(f.rest) > 0 {
		n, err := f.p.Stdin().Write(f.rest)
		f.rest = f.rest[n:]
		if err != nil {
			return f.wrote(ctx, err)
		}
	}
	frame := wire.Line(e)
	n, err := f.p.Stdin().Write(frame)
	if err != nil && n > 0 {
		f.rest = frame[n:]
	}
	return f.wrote(ctx, err)
}

// wrote explains a write that failed: ctx ended, or else the server is gone, or
// no longer reads. A process that lives without its stdin is ended.
func (f *stdioFramer) wrote(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() != nil {
		return ctx.Err()
	}
	e := f.exit(err)
	if e.lives { // or its leader has exited, and others of its group hold the pipes
		f.deaf.Store(true)
		f.p.Kill()
		e = f.exit(err)
	}
	return e
}

// deadline makes a blocked write end when ctx does, until the returned function is called.
func (f *stdioFramer) deadline(ctx context.Context) (undo func()) {
	if ctx.Done() == nil {
		return func() {}
	}
	hit := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = f.p.Stdin().SetWriteDeadline(time.Unix(1, 0))
		close(hit)
	})
	return func() {
		if !stop() {
			<-hit
			_ = f.p.Stdin().SetWriteDeadline(time.Time{})
		}
	}
}

func (f *stdioFramer) close() {
	f.once.Do(func() { close(f.closing) })
	f.p.Close()
	removeFresh(f.fresh)
}
