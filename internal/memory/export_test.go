package memory

// Take takes n bytes without an owner.
func (b *Budget) Take(n int64) bool { return b.take(n, "", 0) }

// Give gives them back.
func (b *Budget) Give(n int64) { b.give("", n) }

// Used returns the number of bytes in use.
func (b *Budget) Used() int64 {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
