// Package watch notifies those who watch something of its changes.
package watch

import (
	"slices"
	"sync"
)

// List is those who watch. The zero value is ready; do not copy it. Its methods may be
// called from any goroutine.
type List struct {
	mu   sync.Mutex
	list []*watcher
}

// watcher counts its running calls, so that stop can wait for them without a lock that changed would run under.
type watcher struct {
	changed func()

	mu      sync.Mutex
	running sync.WaitGroup // no call is added once stopped is set
	stopped bool
}

// Watch calls changed at each Notify, until stop has returned: then it neither runs nor
// ever will again.
func (w *List) Watch(changed func()) (stop func()) {
	one := &watcher{changed: changed}
	w.mu.Lock()
	defer w.mu.Unlock()
	// A new slice each time: Notify walks the one it took.
	w.list = append(append([]*watcher(nil), w.list...), one)
	return func() {
		w.drop(one)
		one.stop()
	}
}

// Notify calls all who watch, in the order in which they came, with no lock held.
func (w *List) Notify() {
	w.mu.Lock()
	list := w.list
	w.mu.Unlock()
	for _, one := range list {
		one.call()
	}
}

func (w *List) drop(one *watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = slices.DeleteFunc(slices.Clone(w.list), func(other *watcher) bool { return other == one })
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

// stop returns when changed neither runs nor ever will again.
func (w *watcher) stop() {
	w.mu.Lock()
	w.stopped = true
	w.mu.Unlock()
	w.running.Wait()
}
