package watch

// Wake wakes goroutines that wait for a change. The zero value is ready. The lock that guards the changing value also
// guards the Wake.
type Wake struct{ next chan struct{} }

// Next returns a channel that the next call of All closes.
func (w *Wake) Next() <-chan struct{} {
	if w.next == nil {
		w.next = make(chan struct{})
	}
	return w.next
}

// All wakes all goroutines that wait.
func (w *Wake) All() {
	if w.next != nil {
		close(w.next)
		w.next = nil
	}
}
