package conn

import (
	"bytes"
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
	"syscall"
	"time"

	"github.com/indusagi/indus/internal/proc"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
)

// ExitWait is how long the end of stdout waits for the exit that explains it.
const ExitWait = time.Second

// Command is the process of a server that speaks over stdio.
type Command struct {
	proc.Command
	// Fresh starts the process in a new, empty directory below Dir, which is created if necessary. At the end, the new
	// directory is removed if it is empty.
	Fresh bool
}

// stdio is newline-delimited JSON over the pipes of a child process.
type stdio struct {
	p       *proc.Process
	boxed   bool   // it runs in a sandbox
	dir     string // the directory that belongs to the process; "": none
	opts    *Options
	lines   *wire.Lines
	partial *partialReader // the input of lines

	writing     chan struct{} // one slot, held by the writer
	atOnce      atOnce
	unsent      []byte        // the unsent rest of an interrupted frame
	stdinClosed atomic.Bool   // the server closed its stdin but did not exit, and was killed
	closing     chan struct{} // closed by close
	lastLine    []byte        // the beginning of the last line; only for the reader
	once        sync.Once
}

// DialStdio starts the server's process and connects to it. If server/discover may have upset the process, it is
// started again, and addressed only as a legacy server.
func DialStdio(ctx context.Context, cmd Command, o Options) (Conn, Handshake, error) {
	o = o.withDefaults()
	era := cmp.Or(o.Era, o.LastEra)
	c, h, err := startIn(ctx, cmd, o, era)
	if err == nil || era == protocol.Legacy || o.Era != "" || ctx.Err() != nil || !mayRetryLegacy(err) {
		return c, h, err
	}
	return startIn(ctx, cmd, o, protocol.Legacy)
}

func startIn(ctx context.Context, cmd Command, o Options, era protocol.Era) (Conn, Handshake, error) {
	f, err := startStdio(ctx, cmd, &o)
	if err != nil {
		return nil, Handshake{}, err
	}
	return openStream(ctx, f, o, era)
}

// startStdio starts the server's process.
func startStdio(ctx context.Context, cmd Command, o *Options) (*stdio, error) {
	if isOver(o.Lease) {
		return nil, errLeaseOver
	}
	dir, err := freshDir(cmd)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	cmd.Dir = cmp.Or(dir, cmd.Dir)
	if dir != "" && cmd.Box != nil { // its own working directory
		if err := cmd.Box.Allow(dir); err != nil {
			removeFresh(dir)
			return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
		}
	}
	p, err := proc.Start(ctx, cmd.Command)
	if err != nil {
		removeFresh(dir)
		return nil, err
	}
	out := &partialReader{Reader: p.Stdout()}
	f := &stdio{
		p: p, boxed: cmd.Box != nil, dir: dir, opts: o,
		partial: out, lines: wire.NewLines(out, o.MaxMessage).Within(o.Memory),
		writing: make(chan struct{}, 1), closing: make(chan struct{}),
	}
	if o.Trace.Started != nil {
		o.Trace.Started(p.Pid(), f.stderr)
	}
	if o.Lease != nil {
		go f.killAtEnd()
	}
	go func() { // a descendant in a session of its own may hold stdout forever
		<-p.Done()
		_ = p.Stdout().SetReadDeadline(time.Now().Add(ExitWait))
	}()
	return f, nil
}

func (f *stdio) read() (wire.Envelope, error) {
	line, err := f.lines.Next()
	var long *wire.TooLong
	switch {
	case err == nil:
		f.keepLine(line)
		env, err := wire.ReadMessage(line)
		if err != nil {
			f.reportNoise(line)
		}
		return env, err
	case errors.As(err, &long):
		f.keepLine(long.Prefix)
		f.reportNoise(long.Prefix)
		return wire.Envelope{}, long.Frame()
	}
	return wire.Envelope{}, f.explainEnd(err)
}

// keepLine stores the beginning of a line, for an error that quotes it.
func (f *stdio) keepLine(line []byte) {
	f.lastLine = append(f.lastLine[:0], line[:min(len(line), 2*maxUnmatchedBytes)]...)
}

// maxNoise bounds the part of a line that is reported, in bytes.
const maxNoise = 200

// reportNoise reports a line that is no JSON object, and so no message.
func (f *stdio) reportNoise(line []byte) {
	line = bytes.TrimSpace(line)
	if report := f.opts.Trace.Noise; report != nil && len(line) > 0 && line[0] != '{' {
		line = line[:min(len(line), maxNoise)]
		report(protocol.Printable(f.opts.Secrets.Mask(string(line)), maxNoise))
	}
}

// explainEnd explains the end of a pipe with the exit of the process. It waits at most ExitWait for the exit. If close
// was called, it does not wait.
func (f *stdio) explainEnd(err error) *ExitError {
	late := time.After(ExitWait)
	e := &ExitError{pipe: err}
	for waiting := true; waiting; {
		waiting = false
		select {
		case <-f.p.Done():
			e.exited, e.status = true, f.p.Err()
		case <-f.closing:
		case <-late:
			select {
			case <-f.p.Exited(): // its remaining processes are being ended, which is bounded
				late, waiting = nil, true
			default:
				e.stillRuns = true
			}
		}
	}
	if f.stdinClosed.Load() && (!e.exited || signalled(e.status)) {
		e = &ExitError{pipe: errStdinClosed}
	}
	e.stderr, e.boxed = f.stderr(), f.boxed
	return e
}

// stderr returns the end of the server's stderr. Servers print there why they refuse something.
func (f *stdio) stderr() string { return f.opts.Secrets.Tail(f.p.Stderr()) }

// ExitError is the end of a server's process, or of a pipe to it.
type ExitError struct {
	exited    bool
	status    error // nil if it exited with 0, or has not exited
	stillRuns bool  // still running long after its pipe ended
	stderr    string
	boxed     bool
	pipe      error
}

// signalled reports whether a process was ended by a signal.
func signalled(status error) bool {
	e, ok := errors.AsType[*exec.ExitError](status)
	return ok && e.ExitCode() < 0
}

// errStdinClosed is the error of a server that continued without its stdin.
var errStdinClosed = errors.New("the server closed its stdin")

func (e *ExitError) Error() string {
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

// Confined reports whether the process ran in a sandbox.
func (e *ExitError) Confined() bool { return e.boxed }

// Says reports whether the end of the server's stderr contains one of these texts.
func (e *ExitError) Says(texts ...string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(e.stderr, text) })
}

func (e *ExitError) Unwrap() []error {
	return slices.DeleteFunc([]error{e.status, e.pipe}, func(err error) bool { return err == nil })
}

// maxStderrNote bounds the part of a server's stderr in an error, in bytes.
const maxStderrNote = 500

// stderrNote returns a part of a server's stderr for an error. It begins at the first line that mentions an error,
// because a stack trace may follow. Otherwise it is the end.
func stderrNote(tail string) string {
	shown, label := tail[max(0, len(tail)-maxStderrNote):], "its stderr ends"
	for line := range strings.Lines(tail) {
		if strings.Contains(line, "rror") && len(tail) > maxStderrNote { // Error, error, TypeError
			shown, label = tail[strings.Index(tail, line):], "its stderr says"
			break
		}
	}
	shown = protocol.Printable(shown, maxStderrNote)
	if shown == "" {
		return ""
	}
	return fmt.Sprintf("; %s: %q", label, shown)
}

// write sends a frame whole. If ctx ends in the middle, the next writer sends the rest first, so that the stream stays
// valid.
func (f *stdio) write(ctx context.Context, e wire.Envelope) error {
	select {
	case f.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-f.writing }()
	if isOver(f.opts.Lease) { // a paused program may notice this here first
		f.p.Kill()
		return &UnsentError{&LostError{errLeaseOver}}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	frame, sent := wire.Line(e), 0
	if len(f.unsent) == 0 {
		if sent = f.writeAtOnce(frame); sent == len(frame) {
			return nil
		}
	}
	defer f.deadline(ctx)() // the pipe is full, or broken
	if len(f.unsent) > 0 {
		n, err := f.p.Stdin().Write(f.unsent)
		f.unsent = f.unsent[n:]
		if err != nil {
			return f.explainWrite(ctx, err)
		}
	}
	n, err := f.p.Stdin().Write(frame[sent:])
	if err != nil && sent+n > 0 {
		f.unsent = frame[sent+n:]
	}
	return f.explainWrite(ctx, err)
}

// explainWrite explains a failed write: ctx ended, the server is gone, or the server no longer reads. A process that
// closed its stdin but still runs is killed.
func (f *stdio) explainWrite(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, os.ErrClosed) { // package proc closed it, because the process has exited
		err = syscall.EPIPE
	}
	e := f.explainEnd(err)
	if e.stillRuns { // or its leader has exited, and other processes of its group hold the pipes
		f.stdinClosed.Store(true)
		f.p.Kill()
		e = f.explainEnd(err)
	}
	return &LostError{e}
}

// deadline ends a blocked write when ctx ends, until undo is called.
func (f *stdio) deadline(ctx context.Context) (undo func()) {
	if ctx.Done() == nil {
		return func() {}
	}
	expired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = f.p.Stdin().SetWriteDeadline(time.Unix(1, 0))
		close(expired)
	})
	return func() {
		if !stop() {
			<-expired
			_ = f.p.Stdin().SetWriteDeadline(time.Time{})
		}
	}
}

func (f *stdio) close() {
	f.once.Do(func() { close(f.closing) })
	f.p.Close()
	removeFresh(f.dir)
}

// Lease is the right to run a process for a limited time.
type Lease interface {
	// Left returns the time until the process must have ended, or 0 if the lease is over.
	Left() time.Duration
	// Done is closed when the lease is over.
	Done() <-chan struct{}
}

// errLeaseOver is the reason of a process that was killed, or not started, because its lease is over.
var errLeaseOver = errors.New("the lease for running it here is over: another replica may run it now")

// isOver reports whether a lease is over. No lease is never over.
func isOver(l Lease) bool { return l != nil && l.Left() == 0 }

// killAtEnd kills the process when its lease is over. If this program is stopped then, its watcher kills the process.
func (f *stdio) killAtEnd() {
	for left := f.opts.Lease.Left(); left > 0; left = f.opts.Lease.Left() {
		f.p.KillAfter(left)
		select {
		case <-time.After(max(left/leaseChecks, minLeaseCheck)):
		case <-f.opts.Lease.Done():
		case <-f.p.Done():
			return
		}
	}
	f.p.Kill()
}

const (
	leaseChecks   = 4 // the end is set again after a quarter of the time that is left
	minLeaseCheck = 50 * time.Millisecond
)
