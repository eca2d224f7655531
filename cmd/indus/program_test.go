package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"
)

// deadline limits every wait of a test. A test that passes never waits for it.
const deadline = 2 * time.Minute

// timedClient sends requests of tests. A request that is not answered ends the test, and not the time of all tests.
var timedClient = &http.Client{Timeout: deadline}

// timedCommand is indus, which is killed if it runs for longer than any test needs it.
func timedCommand(args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), 3*deadline)
	context.AfterFunc(ctx, cancel)
	cmd := exec.CommandContext(ctx, programFor(args), args...)
	cmd.WaitDelay = deadline
	return cmd
}

// program is a command that runs beside the test.
type program struct {
	t        testing.TB
	cmd      *exec.Cmd
	stdin    io.WriteCloser
	out, err transcript
	done     chan struct{} // closed when it has ended and all its output is read
}

// start runs a command. env is added to the test's environment.
func start(t testing.TB, dir string, env []string, name string, args ...string) *program {
	t.Helper()
	if name == "indus" {
		name = programFor(args)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(cmd.Environ(), env...)
	return launch(t, cmd)
}

// launch starts a command, which may have its own stdout and stderr. If it still runs at the end of the test, it is
// killed.
func launch(t testing.TB, cmd *exec.Cmd) *program {
	t.Helper()
	p := &program{t: t, cmd: cmd, done: make(chan struct{})}
	if p.cmd.Stdout == nil {
		p.cmd.Stdout = &p.out
	}
	if p.cmd.Stderr == nil {
		p.cmd.Stderr = &p.err
	}
	p.cmd.WaitDelay = deadline
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
		if t.Failed() {
			t.Logf("%q said on stderr:\n%s", p.cmd.Args, p.err.String())
		}
	})
	return p
}

// send writes a line to the program.
func (p *program) send(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.stdin, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

func (p *program) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// ends waits for the program's end and checks its exit code. -1 means a signal.
func (p *program) ends(code int) {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(deadline):
		p.t.Fatalf("%s has not ended; it said:\n%s%s", p.cmd.Args, p.out.String(), p.err.String())
	}
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.t.Fatalf("%s: exit code %d, want %d; it said:\n%s", p.cmd.Args, got, code, p.err.String())
	}
}

// transcript records the output of a program, and lets tests wait for it.
type transcript struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	more chan struct{}
}

func (s *transcript) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.more != nil {
		close(s.more)
		s.more = nil
	}
	return s.buf.Write(b)
}

func (s *transcript) String() string {
	text, _ := s.snapshot()
	return text
}

func (s *transcript) snapshot() (string, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.more == nil {
		s.more = make(chan struct{})
	}
	return s.buf.String(), s.more
}

// waitFor waits for output that matches the pattern. It returns the first group of the match, or the whole match.
func (p *program) waitFor(from *transcript, pattern string) string {
	p.t.Helper()
	return from.waitFor(p.t, pattern, p.done)
}

// waitFor waits for a match as program.hears does. It fails if done is closed first.
func (s *transcript) waitFor(t testing.TB, pattern string, done <-chan struct{}) string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	late := time.After(deadline)
	for ended := false; ; {
		text, more := s.snapshot()
		if m := re.FindStringSubmatch(text); m != nil {
			return m[len(m)-1]
		}
		if ended {
			t.Fatalf("it ended without saying %q; it said:\n%s", pattern, text)
		}
		select {
		case <-more:
		case <-done:
			ended = true
		case <-late:
			t.Fatalf("never heard %q, but:\n%s", pattern, text)
		}
	}
}
