package toolbox

import "github.com/indusagi/indus/internal/watch"

// Watchers are those who watch a [Source]: the half of one that every
// implementer needs. The zero value is ready; do not copy it.
type Watchers struct{ list watch.List }

// Watch implements [Source.Watch].
func (w *Watchers) Watch(changed func()) (stop func()) { return w.list.Watch(changed) }

// Notify calls all who watch, in the order in which they came. Call it after the
// new snapshot can be had, with no lock held.
func (w *Watchers) Notify() { w.list.Notify() }
