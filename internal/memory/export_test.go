package memory

// Take takes n bytes for nobody's message.
func (b *Budget) Take(n int64) bool { return b.take(n, "", 0) }

// Give gives them back.
func (b *Budget) Give(n int64) { b.give("", n) }

// Used is how many bytes are taken.
func (b *Budget) Used() int64 {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
