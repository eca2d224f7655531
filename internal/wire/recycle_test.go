package wire

// Every chunk that returns to the pool is overwritten, so that the tests of this package detect
// code that still reads it.
func init() {
	recycled = func(c *chunk) {
		for i := range c {
			c[i] = 0xdb
		}
	}
}
