//go:build unix

package statefile_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/statefile"
	"github.com/indusagi/indus/internal/testkit/clustertest"
	"github.com/indusagi/indus/internal/testkit/natsserver"
	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/replica/cluster"
	"github.com/indusagi/indus/replica/cluster/nats"
)

// engines returns functions that connect to the engines on which shared state is tested.
func engines(t *testing.T) map[string]func() cluster.Engine {
	var memory clustertest.Memory
	server := natsserver.Start(t)
	return map[string]func() cluster.Engine{
		"memory": func() cluster.Engine { return memory.Connect() },
		"NATS": func() cluster.Engine {
			e, err := nats.Connect(t.Context(), &nats.Options{Servers: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(e.Close)
			return e
		},
	}
}

// gated is an engine that counts steps, and what is stored. The first step that stores a text waits at the gate.
type gated struct {
	cluster.Engine
	reached, open        chan struct{}
	first                sync.Once
	steps, writes, bytes atomic.Int64
}

func newGated(e cluster.Engine) *gated {
	return &gated{Engine: e, reached: make(chan struct{}), open: make(chan struct{})}
}

func (g *gated) KV(name string) cluster.KV { return &gatedKV{g.Engine.KV(name), g} }

type gatedKV struct {
	cluster.KV
	*gated
}

func (k *gatedKV) Set(ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration) (uint64, error) {
	if len(value) > 0 {
		k.first.Do(func() {
			close(k.reached)
			<-k.open
		})
	}
	k.steps.Add(1)
	k.writes.Add(1)
	k.bytes.Add(int64(len(value)))
	return k.KV.Set(ctx, key, value, revision, ttl)
}

func (k *gatedKV) Get(ctx context.Context, key string) (cluster.Entry, error) {
	k.steps.Add(1)
	return k.KV.Get(ctx, key)
}

func (k *gatedKV) Delete(ctx context.Context, key string, revision uint64) error {
	k.steps.Add(1)
	return k.KV.Delete(ctx, key, revision)
}

// shared returns lines of text in the document of an engine.
func shared(t *testing.T, engine cluster.Engine, name string) *statefile.File[[]byte] {
	d, err := cluster.OpenDocument(t.Context(), engine, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return &statefile.File[[]byte]{
		Path: "the lines of the cluster", Shared: d,
		Decode: func(_ context.Context, text []byte) ([]byte, error) { return bytes.Clone(text), nil },
		Encode: func(_ context.Context, value []byte) ([]byte, error) { return value, nil },
	}
}

func addLine(line string) func([]byte) ([]byte, error) {
	return func(text []byte) ([]byte, error) { return append(text, line+"\n"...), nil }
}

// Updates of a document that wait for another one, or for another process, are written together. One that fails, or
// whose context ends, changes nothing.
func TestWaitingUpdatesOfADocumentAreOneWrite(t *testing.T) {
	for name, connect := range engines(t) {
		t.Run(name, func(t *testing.T) {
			const callers, size = 60, 2000
			engine := newGated(connect())
			f, other := shared(t, engine, "d"), shared(t, connect(), "d")
			refused := errors.New("refused")
			ended, end := context.WithCancel(t.Context())
			var all sync.WaitGroup
			start := func(ctx context.Context, want error, edit func([]byte) ([]byte, error)) {
				all.Go(func() {
					if err := f.Update(ctx, edit); !errors.Is(err, want) {
						t.Errorf("%v, want %v", err, want)
					}
				})
			}
			waiting := func(n int) {
				for f.Waiting() != n {
					time.Sleep(time.Millisecond)
				}
			}
			line := strings.Repeat(".", size)
			start(t.Context(), nil, addLine(line))
			<-engine.reached
			for range callers - 1 {
				start(t.Context(), nil, addLine(line))
			}
			start(t.Context(), refused, func([]byte) ([]byte, error) { return nil, refused })
			start(ended, context.Canceled, func([]byte) ([]byte, error) { t.Error("its context has ended"); return nil, nil })
			waiting(callers + 1)
			end()
			waiting(callers)
			if err := other.Update(t.Context(), addLine("of another process")); err != nil {
				t.Fatal(err)
			}
			close(engine.open)
			all.Wait()
			text, _, err := f.Shared.Load(t.Context())
			if n := bytes.Count(text, []byte("\n")); err != nil || n != callers+1 {
				t.Errorf("%d lines, %v", n, err)
			}
			// One that conflicts, and one with all.
			if n, stored := engine.writes.Load(), engine.bytes.Load(); n != 2 || stored > int64(len(text)+2*size) {
				t.Errorf("%d writes of %d bytes for a text of %d", n, stored, len(text))
			}
		})
	}
}

// A long text that another process is writing, or has written, is a conflict before any part is written.
func TestAConflictOfALongTextWritesNoPart(t *testing.T) {
	for name, connect := range engines(t) {
		t.Run(name, func(t *testing.T) {
			engine, counts := newGated(connect()), newGated(connect())
			close(counts.open)
			f, other := shared(t, engine, "long"), shared(t, counts, "long")
			text := bytes.Repeat([]byte("long\n"), 300<<10)
			done := make(chan error)
			go func() { done <- f.Update(t.Context(), func([]byte) ([]byte, error) { return text, nil }) }()
			<-engine.reached
			conflict := func(when string) {
				t.Helper()
				if err := other.Shared.Replace(t.Context(), text, 0); !errors.Is(err, cluster.ErrConflict) {
					t.Errorf("%s: %v", when, err)
				}
				if n := counts.bytes.Load(); n > 0 {
					t.Errorf("%s: %d bytes are stored", when, n)
				}
			}
			conflict("while it is written")
			close(engine.open)
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			conflict("after it was written")
			if err := other.Update(t.Context(), addLine("more")); err != nil {
				t.Error(err)
			}
			if n := counts.bytes.Load(); n > int64(len(text)+1000) {
				t.Errorf("%d bytes are stored for a text of %d", n, len(text))
			}
		})
	}
}

// A change of a few lines of a long text is a short write of one step, and a process that follows reads nothing more.
// A new base is written now and then.
func TestAChangeOfALongTextIsAShortWrite(t *testing.T) {
	for name, connect := range engines(t) {
		t.Run(name, func(t *testing.T) {
			const lines, size, changes = 400, 2500, 40
			engine, reader := newGated(connect()), newGated(connect())
			close(engine.open)
			f, other := shared(t, engine, "lines"), shared(t, reader, "lines")
			line := func(n int) string { return strings.Repeat(strconv.Itoa(n)+" ", size)[:size] }
			var want []byte
			for n := range lines {
				want = append(want, line(n)+"\n"...)
			}
			update := func() {
				t.Helper()
				if err := f.Update(t.Context(), func([]byte) ([]byte, error) { return want, nil }); err != nil {
					t.Fatal(err)
				}
				watch.Until(t.Context(), other.Shared.Watch, func() bool {
					got, err := other.Read(t.Context())
					return err != nil || bytes.Equal(got, want)
				})
			}
			update()
			for _, g := range []*gated{engine, reader} {
				g.steps.Store(0)
				g.bytes.Store(0)
			}
			for n := range changes {
				middle := n * len(want) / changes / (size + 1) * (size + 1)
				want = slices.Concat(want[:middle], []byte(line(n)+"!\n"), want[middle+size+1:], []byte(line(lines+n)+"\n"))
				update()
			}
			if stored := engine.bytes.Load(); stored > int64(6*len(want)) {
				t.Errorf("%d bytes are stored for a text of %d", stored, len(want))
			}
			if n := engine.steps.Load(); n > changes+30 {
				t.Errorf("%d steps", n)
			}
			if n := reader.steps.Load(); n > 15 {
				t.Errorf("%d steps to follow", n)
			}
			if text, _, err := shared(t, connect(), "lines").Shared.Load(t.Context()); err != nil || !bytes.Equal(text, want) {
				t.Errorf("a process that comes later reads %d bytes, %v", len(text), err)
			}
		})
	}
}
