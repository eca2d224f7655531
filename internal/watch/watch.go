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

// watcher is held for reading by its running calls, and for writing by stop.
type watcher struct {
	mu      sync.RWMutex
	changed func()
	stopped bool
}

// Watch calls changed at each Notify, until stop has returned: then it neither runs nor
// ever will again.
func (w *List) Watch(changed func()) (stop func()) {
	one := &watcher{changed: changed}
	w.mu.Lock()
	defer w.mu.Unlock()
	// A new slice each time: Notify walks the one it took.
	w.list = append(slices.Clip(w.list), one)
	return func() {
		w.mu.Lock()
		w.list = slices.DeleteFunc(slices.Clone(w.list), func(other *watcher) bool { return other == one })
		w.mu.Unlock()
		one.mu.Lock()
		defer one.mu.Unlock()
		one.stopped = true
	}
}

// Notify calls all who watch, in the order in which they came, with no lock of the list held.
func (w *List) Notify() {
	w.mu.Lock()
	list := w.list
	w.mu.Unlock()
	for _, one := range list {
		one.call()
	}
}

// call does nothing once stop waits, also where changed has led here.
func (w *watcher) call() {
	if !w.mu.TryRLock() {
		return
	}
	defer w.mu.RUnlock()
	if !w.stopped {
		w.changed()
	}
}
