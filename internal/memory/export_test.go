package memory

// Reserve takes n bytes without an owner.
func (b *Budget) Reserve(n int64) bool { return b.reserve(n, "", 0) }

// Release gives them back.
func (b *Budget) Release(n int64) { b.release("", n) }

// Used returns the number of bytes in use.
func (b *Budget) Used() int64 {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
