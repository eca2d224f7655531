package operation

import (
	"slices"
	"sync"
)

// watchers are those who watch a registry.
type watchers struct {
	mu   sync.Mutex
	list []*watcher
}

// watcher counts its running calls, so that stop can wait for them without a lock that
// changed would run under.
type watcher struct {
	changed func()

	mu      sync.Mutex
	idle    sync.Cond
	running int
	stopped bool
}

func (w *watchers) watch(changed func()) (stop func()) {
	one := &watcher{changed: changed}
	one.idle.L = &one.mu
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(slices.Clip(w.list), one) // notify walks the one that it took
	return func() {
		w.drop(one)
		one.stop()
	}
}

func (w *watchers) drop(one *watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = slices.DeleteFunc(slices.Clone(w.list), func(other *watcher) bool { return other == one })
}

// notify calls all who watch, in the order in which they came.
func (w *watchers) notify() {
	w.mu.Lock()
	list := w.list
	w.mu.Unlock()
	for _, one := range list {
		one.call()
	}
}

func (w *watcher) call() {
	w.mu.Lock()
	if w.stopped {
		w.mu.Unlock()
		return
	}
	w.running++
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.running--
		w.idle.Broadcast()
	}()
	w.changed()
}

// stop returns when changed neither runs nor ever will again.
func (w *watcher) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	for w.running > 0 {
		w.idle.Wait()
	}
}
