// Package watch notifies watchers of changes.
package watch

import (
	"context"
	"slices"
	"sync"
	"time"
)

// List is a list of watchers. The zero value is ready; do not copy it. Its methods may be called from any goroutine.
type List struct {
	mu   sync.Mutex
	list []*watcher
}

// watcher counts its running calls, so that stop can wait for them. changed runs without a lock.
type watcher struct {
	changed func()

	mu      sync.Mutex
	running sync.WaitGroup // no call is added once stopped is set
	stopped bool
}

// Until waits until done returns true, or ctx ends. It calls done first at the start, and then after each change
// that watch reports.
func Until(ctx context.Context, watch func(changed func()) (stop func()), done func() bool) {
	changes := make(chan struct{}, 1) // several pending changes count as one
	defer watch(func() { Signal(changes) })()
	for !done() {
		select {
		case <-changes:
		case <-ctx.Done():
			return
		}
	}
}

// Signal sends a value on a channel with one slot, unless a value waits there.
func Signal(slot chan<- struct{}) {
	select {
	case slot <- struct{}{}:
	default:
	}
}

// Sleep waits for d, or until ctx ends. It reports whether ctx has not ended before.
func Sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// Watch calls changed at each Notify, until stop has returned. After that, changed does not run.
func (w *List) Watch(changed func()) (stop func()) {
	one := &watcher{changed: changed}
	w.mu.Lock()
	defer w.mu.Unlock()
	// A new slice each time, because Notify iterates over the old slice.
	w.list = append(append([]*watcher(nil), w.list...), one)
	return func() {
		w.drop(one)
		one.stop()
	}
}

// Notify calls all watchers in the order of their registration, without holding a lock.
func (w *List) Notify() {
	w.mu.Lock()
	list := w.list
	w.mu.Unlock()
	for _, one := range list {
		one.call()
	}
}

func (w *List) drop(target *watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = slices.DeleteFunc(slices.Clone(w.list), func(w *watcher) bool { return w == target })
}

func (w *watcher) call() {
	w.mu.Lock()
	stopped := w.stopped
	if !stopped {
		w.running.Add(1)
	}
	w.mu.Unlock()
	if !stopped {
		defer w.running.Done()
		w.changed()
	}
}

// stop waits until changed does not run, and prevents further calls.
func (w *watcher) stop() {
	w.mu.Lock()
	w.stopped = true
	w.mu.Unlock()
	w.running.Wait()
}
