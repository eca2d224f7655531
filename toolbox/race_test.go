package toolbox_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
)

// TestBoxUnderConcurrentUse runs changes, reads, calls and watchers at the same time. It relies on
// the race detector and on invariants.
func TestBoxUnderConcurrentUse(t *testing.T) {
	one, two := registry(textTool("fixed", "here")), toolbox.NewRegistry(nil)
	box := toolbox.NewBox(&toolbox.BoxOptions{Profile: schema.Seed}, one, toolbox.NewBox(nil, two))
	const rounds = 300
	var wait sync.WaitGroup
	var received atomic.Int64

	for worker, r := range []*toolbox.Registry{one, one, two, two} {
		wait.Go(func() {
			for i := range rounds {
				name := fmt.Sprintf("t%d_%d", worker, i%10)
				r.Add(textTool(name, name))
				if i%3 == 0 {
					r.Remove(name)
				}
			}
		})
	}
	for _, p := range []toolbox.Principal{"", "", "ann", "bob"} {
		wait.Go(func() {
			var last *toolbox.Snapshot
			for range rounds {
				now := box.Snapshot(p)
				if last != nil && (now.Version < last.Version || now.Version == last.Version && now != last) {
					t.Errorf("version %d after %d", now.Version, last.Version)
				}
				if !slices.Contains(names(now.Tools), "fixed") {
					t.Error("a tool was lost")
				}
				last = now
			}
		})
		wait.Go(func() {
			for i := range rounds {
				if r, err := box.Do(t.Context(), toolbox.Call{Name: "fixed", Caller: p}); err != nil || r.IsError() {
					t.Error(r, err)
				}
				box.Run(t.Context(), toolbox.Call{Name: fmt.Sprintf("t0_%d", i%10), Caller: p})
				box.Descriptors()
			}
		})
		wait.Go(func() {
			for range rounds {
				stop := box.Watch(func() { received.Add(1); box.Snapshot(p) })
				stop()
			}
		})
	}
	stop := box.Watch(func() { received.Add(1) })
	wait.Wait()
	stop()
	if received.Load() < 4*rounds {
		t.Errorf("heard only %d changes", received.Load())
	}
}

func TestResultIsDecodedOnceByMany(t *testing.T) {
	var decoded atomic.Int64
	r := toolbox.WireResult(toolbox.Wire{Format: "x"}, func(toolbox.Wire) toolbox.Decoded {
		decoded.Add(1)
		return toolbox.Decoded{Blocks: []toolbox.Block{toolbox.Text("a")}, IsError: true}
	})
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			if len(r.Blocks()) != 1 || !r.IsError() || r.Structured() != nil {
				t.Error("the result differs")
			}
		})
	}
	wait.Wait()
	if decoded.Load() != 1 {
		t.Errorf("decoded %d times", decoded.Load())
	}
}
