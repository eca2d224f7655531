package interop_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
)

// traceLog records the calls of a trace.
type traceLog struct {
	mu       sync.Mutex
	pids     []int
	stderr   func() string
	answered []string // methods, with "!" if they failed
	noise    []string
}

func (s *traceLog) trace() *interop.Trace {
	return &interop.Trace{
		Started: func(pid int, stderr func() string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.pids, s.stderr = append(s.pids, pid), stderr
		},
		Answered: func(method string, took time.Duration, err error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if err != nil {
				method += "!"
			}
			if took < 0 {
				method += " before it was asked"
			}
			s.answered = append(s.answered, method)
		},
		Noise: func(line string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.noise = append(s.noise, line)
		},
	}
}

func TestATraceTellsTheSteps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		flags    []string
		starts   int
		answered []string
	}{
		{"modern", nil, 1, []string{"server/discover"}},
		{"legacy", []string{"-era", "legacy"}, 1, []string{"server/discover!", "initialize"}},
		{"it leaves when asked", []string{"-era", "legacy", "-probe", "exit"}, 2, []string{"server/discover!", "initialize"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &traceLog{}
			r := openFixture(t, &interop.EndpointOptions{Trace: s.trace()}, append(c.flags, "-stderr", "hello")...)
			r.Close()
			if len(s.pids) != c.starts || s.stderr() != "hello" || s.noise != nil {
				t.Errorf("processes %v, stderr %q, noise %q", s.pids, s.stderr(), s.noise)
			}
			if diff := cmp.Diff(c.answered, s.answered); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestATraceTellsOfNoise(t *testing.T) {
	s := &traceLog{}
	r := openFixture(t, &interop.EndpointOptions{Trace: s.trace()}, "-era", "legacy", "-noise", "-bigline", "100000")
	r.Close()
	if len(s.noise) < 4 || len(s.noise[0]) > 300 || s.noise[1] != "npm notice New major version of npm available!" {
		t.Fatalf("%q", s.noise)
	}
	for _, line := range s.noise {
		if strings.HasPrefix(line, "{") || strings.ContainsAny(line, "\x1b\n") {
			t.Errorf("told of %q", line)
		}
	}
}

func TestATraceOfAServerThatDies(t *testing.T) {
	s := &traceLog{}
	r := onFixture(t, &interop.EndpointOptions{Trace: s.trace()}, config.Timeouts{}, "-exit", "-stderr", strings.Repeat("a long story\n", 100))
	if err := r.Open(t.Context()); !errors.Is(err, interop.SpawnFailed) {
		t.Fatal(err)
	}
	if got := s.stderr(); len(s.pids) == 0 || strings.Count(got, "a long story") != 100 {
		t.Errorf("processes %v, stderr %q", s.pids, got)
	}
}

func TestAnEmptyTraceIsGood(t *testing.T) {
	r := openFixture(t, &interop.EndpointOptions{Trace: &interop.Trace{}}, "-noise")
	wantReady(t, r.Endpoint)
}
