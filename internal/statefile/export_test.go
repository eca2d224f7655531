package statefile

// Waiting returns the number of updates that the next write carries out.
func (f *File[T]) Waiting() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.queue)
}
