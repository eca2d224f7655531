package toolbox

import "github.com/indusagi/indus/internal/watch"

// Watchers holds the watchers of a [Source]. Implementers use it for the method Watch. The zero
// value is ready; do not copy it.
type Watchers struct{ list watch.List }

// Watch implements [Source.Watch].
func (w *Watchers) Watch(changed func()) (stop func()) { return w.list.Watch(changed) }

// Notify calls all watchers in the order in which they were added. Call it after the new snapshot
// is available, with no lock held.
func (w *Watchers) Notify() { w.list.Notify() }
