package proc

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"
)

// markName is the variable that holds a child's mark.
const markName = "INDUS_WATCH"

const (
	// settleWait is how long the rest of a group may go on by itself after
	// its leader: the tail of a pipeline that is still printing.
	settleWait = 100 * time.Millisecond
	// drainWait is how long we go on reading after the end of a group when
	// someone outside it holds a pipe open.
	drainWait = 200 * time.Millisecond
	// reapWait is how long Close waits after SIGKILL. Only a process that
	// hangs in the kernel takes longer; its goroutines stay until it ends.
	reapWait = 5 * time.Second
	// killTick is how long members outside of the group have to end of SIGKILL
	// before they, and what they have just started, are looked for again.
	killTick = 50 * time.Millisecond
	// execWait is how long somebody may seem to be executing a program, which takes
	// well under a millisecond of its own: then it has no environment to be read.
	execWait = 2 * time.Second
)

// A Process is a running child and the group it leads. It holds files until
// Close is called, whether or not the child has ended.
type Process struct {
	leader leader
	grace  Grace
	stdin  *os.File   // our ends of the pipes; nil when Run needs none
	stdout *os.File   // likewise
	ends   []*os.File // those we read from: who holds the other side of one belongs to us
	stderr tail

	exited chan struct{} // closed when the leader has exited, before it is reaped
	killed chan struct{} // closed by Kill
	done   chan struct{}

	// What carries the mark in its environment is ours: the child and its
	// descendants, wherever they went. "": only what is in the session is.
	mark    string
	session string // for the watcher

	unsure time.Time // since when there may be members that cannot be told yet; supervise's own

	state *os.ProcessState // set before done is closed
	err   error            // likewise

	killing, closing sync.Once

	mu     sync.Mutex
	gone   bool      // the leader's number is no longer ours: send no signals
	termed time.Time // when SIGTERM was sent, once
}

// Start starts a command. The context is for the start alone: the process
// lives until Close. An error names the command; it is [exec.ErrNotFound] for
// a name that is not in the PATH, [fs.ErrNotExist] for a path or a directory
// that does not exist, [fs.ErrPermission] for what cannot be executed.
func Start(ctx context.Context, c Command) (*Process, error) {
	p := newProcess(c)
	var s streams
	defer s.closeTheirs()
	p.stdin = s.writer(&s.in)
	p.stdout = s.reader(&s.out)
	stderr := s.reader(&s.err)
	p.ends = []*os.File{p.stdout, stderr}
	if err := p.launch(ctx, c, &s, false, ""); err != nil {
		s.closeOurs()
		return nil, err
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		io.Copy(&p.stderr, stderr)
	}()
	go p.supervise(func() {
		drain(stderr)
		<-read
		stderr.Close()
	})
	return p, nil
}

func newProcess(c Command) *Process {
	return &Process{
		mark:   rand.Text(),
		grace:  c.Grace.orDefaults(),
		exited: make(chan struct{}),
		killed: make(chan struct{}),
		done:   make(chan struct{}),
	}
}

// launch starts the leader and has its group watched. strays is the mark that the leader carries if p has none.
func (p *Process) launch(ctx context.Context, c Command, s *streams, session bool, strays string) error {
	if s.fault != nil {
		return c.fail(s.fault)
	}
	if err := ctx.Err(); err != nil {
		return c.fail(err)
	}
	path, dir, err := c.resolve()
	if err != nil {
		return c.fail(err)
	}
	if p.mark != "" {
		processWatcher.add(p.mark) // before there is anything to end
	}
	child, err := startChild(path, append([]string{c.Path}, c.Args...), &os.ProcAttr{
		Dir:   dir,
		Env:   Environ(nil, append(slices.Clip(c.Env), markName+"="+cmp.Or(p.mark, strays)), false),
		Files: []*os.File{s.in, s.out, s.err},
		Sys:   ownGroup(session),
	})
	if errors.Is(err, fs.ErrNotExist) {
		// The file was there a moment ago.
		err = fmt.Errorf("its interpreter does not exist: %w", err)
	}
	if err != nil {
		if p.mark != "" {
			processWatcher.remove(p.mark)
		}
		return c.fail(err)
	}
	p.session = fmt.Sprintf("%d:%s", child.Pid, startOf(child.Pid))
	processWatcher.add(p.session)
	p.leader = leader{Process: child}
	return nil
}

// supervise is the one goroutine that sees the leader end and reaps it;
// collect ends whatever reads the pipes.
func (p *Process) supervise(collect func()) {
	defer close(p.done)
	p.leader.await()
	close(p.exited)
	alone := p.outlast()
	p.signal(sigKill)
	p.killMembers(alone)
	p.mu.Lock()
	p.gone = true
	p.mu.Unlock()
	processWatcher.remove(p.session)
	processWatcher.remove(p.mark)
	p.state, p.err = p.leader.reap()
	if p.err == nil && !p.state.Success() {
		p.err = &exec.ExitError{ProcessState: p.state}
	}
	if p.stdin != nil {
		p.stdin.Close() // nobody reads it: a blocked writer must hear of it
	}
	collect()
}

// killMembers kills what is outside of the leader's group until nothing is left.
func (p *Process) killMembers(alone bool) {
	for late := time.Now().Add(reapWait); !alone && time.Now().Before(late); {
		p.signalMembers(sigKill, nil)
		alone = waitUntil(p.alone, killTick, nil)
	}
}

// outlast waits for what is left after the leader: first, as long as it holds a
// pipe, for it to end by itself, then after SIGTERM. It reports whether nothing is.
func (p *Process) outlast() (alone bool) {
	if waitUntil(p.released, settleWait, p.killed) && p.alone() {
		return true
	}
	termed := p.terminate()
	if p.askMembers() {
		termed = time.Now()
	}
	return waitUntil(func() bool { return p.released() && p.alone() }, p.grace.Term-time.Since(termed), p.killed)
}

// askMembers sends SIGTERM to the members outside of the leader's group, each once, and
// to those that were just executing a program. It reports whether there were any.
func (p *Process) askMembers() (any bool) {
	asked := map[int]bool{}
	waitUntil(func() bool {
		some, unsure := p.signalMembers(sigTerm, asked)
		any = any || some
		return !unsure
	}, execWait, p.killed)
	return any
}

// released reports whether nobody holds the other side of our ends.
func (p *Process) released() bool { return !slices.ContainsFunc(p.ends, pipeHeld) }

// terminate sends SIGTERM to the group, once, and says when that was.
func (p *Process) terminate() time.Time {
	p.mu.Lock()
	first := p.termed.IsZero()
	if first {
		p.termed = time.Now()
	}
	at := p.termed
	p.mu.Unlock()
	if first {
		p.signal(sigTerm)
	}
	return at
}

// signal sends a signal to the group, while its number is surely its own.
func (p *Process) signal(s signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.gone {
		p.leader.signalGroup(s)
	}
}

// Stdin is the end that writes to the child; it takes a write deadline. A
// write after the child has ended is an error, never a signal. Closing it is
// the first step of Close.
func (p *Process) Stdin() *os.File { return p.stdin }

// Stdout is the end that reads from the child. What the child wrote before it
// ended can be read until Close closes it; then comes EOF, unless a process
// outside the group holds the pipe: whoever reads past Done sets a deadline.
func (p *Process) Stdout() *os.File { return p.stdout }

// Stderr is the last 8 KiB that the child has written to stderr so far, from
// the start of a line, without terminal controls: fit for a message. After
// Done it is complete.
func (p *Process) Stderr() string { return p.stderr.String() }

// Pid is the number of the child, and of its group. Signals are sent by Close
// and Kill only: after Done the number may be someone else's.
func (p *Process) Pid() int { return p.leader.Pid }

// Done is closed when the child has exited, its group was killed and it was
// reaped.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exited is closed when the child has exited, while what it leaves may still live.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Err says how the child ended, once Done is closed: nil for exit status 0,
// else an [exec.ExitError], "exit status 3" or "signal: killed". Before, it is
// nil.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// Watched reports whether the group will be killed if our own process dies
// without closing it. It is false without /bin/sh, and after Done.
func (p *Process) Watched() bool { return processWatcher.watches(p.session) }

// Close ends the child with its group, gently at first (see [Grace]), and
// closes the pipes. It returns when the child is reaped, also if others call
// it or Kill meanwhile, or if the child has long ended.
func (p *Process) Close() {
	p.closing.Do(func() {
		p.stdin.Close()
		if !waitFor(p.exited, p.grace.Stdin) {
			p.terminate()
		}
		p.finish()
		p.stdout.Close()
	})
}

// Kill kills the group at once and does not wait: Done says when it is over.
// Close must still be called.
func (p *Process) Kill() {
	p.killing.Do(func() { close(p.killed) })
	p.signal(sigKill)
}

// finish waits for the end of a child that was asked to end, and sees to it.
func (p *Process) finish() {
	if !waitFor(p.exited, p.grace.Term) {
		p.Kill()
	}
	// Of the leader's own time in outlast too.
	waitFor(p.done, settleWait+max(0, p.grace.Term)+drainWait+reapWait)
}

// waitFor waits for an event and reports whether it came in time.
func waitFor(event <-chan struct{}, limit time.Duration) bool {
	select {
	case <-event:
		return true
	case <-time.After(limit):
	}
	select {
	case <-event: // both at once
		return true
	default:
		return false
	}
}

// ourChildren holds the children whose exit this package waits for. It is package-level state because a process has
// one set of children.
var ourChildren struct {
	starting sync.RWMutex // held for reading from the start of a child until pids has it
	pids     sync.Map     // int → *os.Process
}

// startChild starts a process that ReapOrphans leaves to reapChild.
func startChild(path string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	ourChildren.starting.RLock()
	defer ourChildren.starting.RUnlock()
	child, err := os.StartProcess(path, argv, attr)
	if err == nil {
		ourChildren.pids.Store(child.Pid, child)
	}
	return child, err
}

// reapChild waits until a process of startChild has ended, and returns its status.
func reapChild(child *os.Process) (*os.ProcessState, error) {
	defer ourChildren.pids.CompareAndDelete(child.Pid, child) // a later child may have the number
	return child.Wait()
}
