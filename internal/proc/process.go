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

// markName is the environment variable that holds a child's mark.
const markName = "INDUS_WATCH"

const (
	// settleWait is how long the rest of a group may run on its own after its leader, such as the tail of a
	// pipeline that is still printing.
	settleWait = 100 * time.Millisecond
	// drainWait is how long we read on after the end of a group if a process outside of it holds a pipe open.
	drainWait = 200 * time.Millisecond
	// reapWait is how long Close waits after SIGKILL. Only a process that hangs in the kernel takes longer. Its
	// goroutines stay until it ends.
	reapWait = 5 * time.Second
	// killTick is how long members outside of the group have to end after SIGKILL. After it, they and their new
	// descendants are searched again.
	killTick = 50 * time.Millisecond
	// execWait is how long a process may seem to be executing a program, which takes well under a millisecond.
	// During that time its environment cannot be read.
	execWait = 2 * time.Second
	// timerUnit is the accuracy of KillAfter.
	timerUnit = 10 * time.Millisecond
)

// A Process is a running child and the group that it leads. It holds open files until Close is called, even if the
// child has ended.
type Process struct {
	leader  leader
	grace   Grace
	stdin   *os.File   // our ends of the pipes; nil if Run needs none
	stdout  *os.File   // likewise
	outputs []*os.File // the ends that we read from: a process that holds the other side belongs to us
	stderr  tail

	exited chan struct{} // closed when the leader has exited, before it is reaped
	killed chan struct{} // closed by Kill
	done   chan struct{}

	// mark identifies the child and its descendants by their environment, in any group. If it is "", only processes
	// in the session belong to p.
	mark    string
	session string // identity for the watcher

	unsure time.Time // since when members may exist that cannot be identified yet; only supervise uses it

	state *os.ProcessState // set before done is closed
	err   error            // likewise

	killing, closing sync.Once

	mu           sync.Mutex
	timed        bool      // KillAfter was called
	ended        bool      // the leader's number may be reused: send no signals
	terminatedAt time.Time // time of the only SIGTERM
}

// Start starts a command. The context applies to the start only: the process lives until Close. An error names the
// command. It is [exec.ErrNotFound] for a name that is not in the PATH, [fs.ErrNotExist] for a missing path or
// directory, and [fs.ErrPermission] for a file that cannot be executed.
func Start(ctx context.Context, c Command) (*Process, error) {
	p := newProcess(c)
	var s streams
	defer s.closeChildEnds()
	p.stdin = s.writer(&s.in)
	p.stdout = s.reader(&s.out)
	stderr := s.reader(&s.err)
	p.outputs = []*os.File{p.stdout, stderr}
	if err := p.launch(ctx, c, &s, false, ""); err != nil {
		s.closeParentEnds()
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

// launch starts the leader and registers its group with the watcher. If p has no mark, the leader carries the mark
// strays.
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
		processWatcher.add(p.mark) // before the child exists
	}
	child, err := startChild(c.Box, path, append([]string{c.Path}, c.Args...), &os.ProcAttr{
		Dir:   dir,
		Env:   Environ(nil, append(slices.Clip(c.Env), markName+"="+cmp.Or(p.mark, strays)), false),
		Files: []*os.File{s.in, s.out, s.err},
		Sys:   ownGroup(session),
	})
	if errors.Is(err, fs.ErrNotExist) {
		// The file existed a moment ago.
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

// supervise waits for the end of the leader and reaps it, in one goroutine. collect ends the reads of the pipes.
func (p *Process) supervise(collect func()) {
	defer close(p.done)
	p.leader.await()
	close(p.exited)
	alone := p.awaitRemaining()
	p.signal(sigKill)
	p.killMembers(alone)
	p.mu.Lock()
	p.ended = true
	timed := p.timed
	p.mu.Unlock()
	if timed {
		processWatcher.arm(p.session, p.mark, 0)
	}
	processWatcher.remove(p.session)
	processWatcher.remove(p.mark)
	p.state, p.err = p.leader.reap()
	if p.err == nil && !p.state.Success() {
		p.err = &exec.ExitError{ProcessState: p.state}
	}
	if p.stdin != nil {
		p.stdin.Close() // no process reads it any more; this unblocks a writer
	}
	collect()
}

// killMembers kills the members outside of the leader's group until none are left.
func (p *Process) killMembers(alone bool) {
	for deadline := time.Now().Add(reapWait); !alone && time.Now().Before(deadline); {
		p.signalMembers(sigKill, nil)
		alone = waitUntil(p.alone, killTick, nil)
	}
}

// awaitRemaining waits for the processes that remain after the leader. While they hold a pipe, it first waits for them
// to end by themselves, and then sends SIGTERM. It reports whether no process remains.
func (p *Process) awaitRemaining() (alone bool) {
	if waitUntil(p.released, settleWait, p.killed) && p.alone() {
		return true
	}
	termed := p.terminate()
	if p.terminateMembers() {
		termed = time.Now()
	}
	return waitUntil(func() bool { return p.released() && p.alone() }, p.grace.Term-time.Since(termed), p.killed)
}

// terminateMembers sends SIGTERM once to each member outside of the leader's group, and to members that were just
// executing a program. It reports whether there were any.
func (p *Process) terminateMembers() (sent bool) {
	signaled := map[int]bool{}
	waitUntil(func() bool {
		sentNow, unsure := p.signalMembers(sigTerm, signaled)
		sent = sent || sentNow
		return !unsure
	}, execWait, p.killed)
	return sent
}

// released reports whether no process holds the other side of our ends.
func (p *Process) released() bool { return !slices.ContainsFunc(p.outputs, pipeHeld) }

// terminate sends SIGTERM to the group, once, and returns the time of that signal.
func (p *Process) terminate() time.Time {
	p.mu.Lock()
	first := p.terminatedAt.IsZero()
	if first {
		p.terminatedAt = time.Now()
	}
	sentAt := p.terminatedAt
	p.mu.Unlock()
	if first {
		p.signal(sigTerm)
	}
	return sentAt
}

// signal sends a signal to the group while its number cannot be reused.
func (p *Process) signal(s signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.leader.signalGroup(s)
	}
}

// Stdin returns the pipe to the child's stdin, which supports write deadlines. A write after the child has ended
// returns an error and raises no signal. Closing it is the first step of Close.
func (p *Process) Stdin() *os.File { return p.stdin }

// Stdout returns the pipe from the child's stdout. Output that the child wrote before it ended can be read until
// Close. After it comes EOF, unless a process outside the group holds the pipe: a reader that reads past Done must
// set a deadline.
func (p *Process) Stdout() *os.File { return p.stdout }

// Stderr returns the last 8 KiB of the child's stderr so far, from the start of a line and without terminal
// controls, so that it fits into a message. After Done it is complete.
func (p *Process) Stderr() string { return p.stderr.String() }

// Pid returns the number of the child, and of its group. Send signals only through Close and Kill: after Done the
// number may be reused.
func (p *Process) Pid() int { return p.leader.Pid }

// Done is closed when the child has exited, its group was killed and it was reaped.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exited is closed when the child has exited. Its descendants may still live.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Err returns the result of the child once Done is closed. It is nil for exit status 0, else an [exec.ExitError],
// "exit status 3" or "signal: killed". Before Done it is nil.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// Close ends the child and its group, gently at first (see [Grace]), and closes the pipes. It returns when the
// child is reaped. Concurrent calls of Close and Kill are safe, also after the end of the child.
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

// Kill kills the group at once and does not wait: Done reports the end. Close must still be called.
func (p *Process) Kill() {
	p.killing.Do(func() { close(p.killed) })
	p.signal(sigKill)
}

// KillAfter makes the watcher kill the child and its descendants after d, also while our own process is stopped.
// Another call before that time replaces d, which is at least 10 ms. Without /bin/sh it has no effect.
func (p *Process) KillAfter(d time.Duration) {
	p.mu.Lock()
	ended := p.ended
	p.timed = true
	p.mu.Unlock()
	if !ended {
		processWatcher.arm(p.session, p.mark, max(d, timerUnit))
	}
}

// finish waits for the end of a terminated child, and kills it after the grace.
func (p *Process) finish() {
	if !waitFor(p.exited, p.grace.Term) {
		p.Kill()
	}
	// Includes the leader's own time in awaitRemaining.
	waitFor(p.done, settleWait+max(0, p.grace.Term)+drainWait+reapWait)
}

// waitFor waits for an event and reports whether it came before the limit.
func waitFor(event <-chan struct{}, limit time.Duration) bool {
	select {
	case <-event:
		return true
	case <-time.After(limit):
	}
	select {
	case <-event: // if both came at once, the event counts
		return true
	default:
		return false
	}
}

// ownChildren holds the children that this package waits for. It is package-level state because a process has one set
// of children.
var ownChildren struct {
	starting sync.RWMutex // held for reading from the start of a child until pids contains it
	pids     sync.Map     // int → *os.Process
}

// startChild starts a process, in a box if it is not nil. ReapOrphans leaves it to reapChild.
func startChild(box Starter, path string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	ownChildren.starting.RLock()
	defer ownChildren.starting.RUnlock()
	begin := os.StartProcess
	if box != nil {
		begin = box.Start
	}
	child, err := begin(path, argv, attr)
	if err == nil {
		ownChildren.pids.Store(child.Pid, child)
	}
	return child, err
}

// reapChild waits until a process of startChild has ended, and returns its status.
func reapChild(child *os.Process) (*os.ProcessState, error) {
	defer ownChildren.pids.CompareAndDelete(child.Pid, child) // a later child may have the same number
	return child.Wait()
}
