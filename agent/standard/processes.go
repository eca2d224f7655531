package standard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/proc"
	"github.com/indusagi/indus/toolbox"
)

const (
	// maxRunning is the number of processes that may run at once.
	maxRunning = 16
	// maxEnded is the number of ended processes that are kept, with their output.
	maxEnded = 16
)

// processes holds the processes of one session.
type processes struct {
	ctx    context.Context // ends with the session
	cancel context.CancelFunc

	bash *proc.Strays // of the deck's bash

	mu      sync.Mutex
	all     []*process // in the order of their start
	started int
	strays  []*proc.Strays // of all processes ever started
}

func newProcesses() *processes {
	s := &processes{bash: proc.NewStrays()}
	s.strays = append(s.strays, s.bash)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// process is one command that runs, or has run.
type process struct {
	id      string
	command toolbox.Command
	started time.Time
	cancel  context.CancelFunc // ends the command
	strays  *proc.Strays       // processes that leave the command's session
	out     *outputBuffer
	done    chan struct{}

	duration time.Duration // these are set before done is closed
	exit     int
	err      error
}

// start starts a command in the shell of a call. The command outlives the call.
func (s *processes) start(tc *toolbox.Context, c toolbox.Command) (*process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return nil, errors.New("the session is over")
	}
	if running := s.dropEnded(); len(running) >= maxRunning {
		return nil, fmt.Errorf("%d are running, which is the most: stop one of %s", len(running), strings.Join(running, ", "))
	}
	s.started++
	p := &process{
		id: fmt.Sprintf("p%d", s.started), command: c, started: time.Now(),
		out: newOutputBuffer(tc), done: make(chan struct{}), strays: proc.NewStrays(),
	}
	s.strays = append(s.strays, p.strays)
	p.command.Stdout, p.command.Stderr = p.out, p.out
	ctx, cancel := context.WithCancel(s.ctx)
	p.cancel = cancel
	s.all = append(s.all, p)
	go p.run(ctx, tc.Shell)
	return p, nil
}

func (p *process) run(ctx context.Context, shell toolbox.Shell) {
	defer close(p.done)
	defer p.cancel()
	p.exit, p.err = shell.Run(p.strays.Within(ctx), p.command)
	if ctx.Err() != nil { // it was stopped: end all processes that it started
		p.strays.End(0)
	}
	p.duration = time.Since(p.started)
}

// dropEnded drops the oldest ended processes, and returns the ids of the running ones.
func (s *processes) dropEnded() (running []string) {
	ended := 0
	for _, p := range s.all {
		if p.isRunning() {
			running = append(running, p.id)
		} else {
			ended++
		}
	}
	s.all = slices.DeleteFunc(s.all, func(p *process) bool {
		if ended <= maxEnded || p.isRunning() {
			return false
		}
		ended--
		return true
	})
	return running
}

func (s *processes) find(id string) (*process, error) {
	var ids []string
	for _, p := range s.snapshot() {
		if p.id == id {
			return p, nil
		}
		ids = append(ids, p.id)
	}
	if ids == nil {
		return nil, errors.New("no process was started")
	}
	return nil, fmt.Errorf("there is no %q; there are %s", id, strings.Join(ids, ", "))
}

func (s *processes) snapshot() []*process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

// close ends all processes and waits for their end.
func (s *processes) close() {
	s.mu.Lock()
	s.cancel()
	s.mu.Unlock()
	for _, p := range s.snapshot() {
		<-p.done
	}
	s.mu.Lock()
	strays := s.strays
	s.mu.Unlock()
	var ending sync.WaitGroup
	for _, stray := range strays {
		ending.Go(func() { stray.End(0) })
	}
	ending.Wait()
}

func (p *process) isRunning() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// failed reports whether the command could not be run at all.
func (p *process) failed() bool {
	return !p.isRunning() && p.err != nil && !errors.Is(p.err, context.Canceled)
}

// state describes the state of a process.
func (p *process) state() string {
	switch {
	case p.isRunning():
		return fmt.Sprintf("running for %v", time.Since(p.started).Round(time.Second))
	case p.failed():
		return p.err.Error()
	case p.err != nil:
		return fmt.Sprintf("stopped after %v", p.duration.Round(time.Second))
	}
	return fmt.Sprintf("ended after %v, exit status %d", p.duration.Round(time.Second), p.exit)
}

// wait waits until there is new output, the process ends, or most has passed.
func (p *process) wait(ctx context.Context, most time.Duration) error {
	if most == 0 {
		return nil
	}
	timeout := time.NewTimer(most)
	defer timeout.Stop()
	select {
	case <-p.done:
	case <-p.out.newOutput():
	case <-timeout.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// stop ends a process and all processes that it started. They first get a request to stop, and are
// then killed.
func (p *process) stop(ctx context.Context) error {
	p.cancel()
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
