// Package linear checks that the time of a function is linear in the size of its input. Start with [Check].
package linear

import (
	"testing"
	"time"
)

const (
	small, large = 16 << 10, 256 << 10 // bytes of the inputs
	// maxRatio limits the time for the large input, as a multiple of the time for small inputs of the same total size. 1
	// is linear, and 16 quadratic. Between them is the time for memory that is not in the caches of the processor. A run
	// of the same length is interrupted as often by other programs.
	maxRatio  = 4
	maxRounds = 50
	// noise is added to what the larger input may take, because the time of a fast function is that of the clock.
	noise = 50 * time.Microsecond
	// slower is how much slower the machine of a test may be, and a build that looks for races.
	slower = 40
)

// Check fails the test if the time of the function grows faster than its input, or is much longer than limit for 1 MiB.
// of returns the function for an input of that size. Other programs run on the machine: the shortest of many
// runs counts, and the runs end as soon as it is short enough.
func Check(t *testing.T, name string, limit time.Duration, of func(size int) func()) {
	t.Helper()
	one, two := of(small), of(large)
	least := [2]time.Duration{time.Hour, time.Hour}
	for range maxRounds {
		began := time.Now()
		for range large / small {
			one()
		}
		least[0] = min(least[0], time.Since(began))
		began = time.Now()
		two()
		least[1] = min(least[1], time.Since(began))
		fast := least[1] <= slower*limit*large/(1<<20)
		if fast && least[1] <= maxRatio*(least[0]+noise) {
			return
		}
		if least[1] > 10*time.Second {
			break
		}
	}
	t.Errorf("%s: %v for %d KiB in %d parts, and %v at once", name, least[0], large>>10, large/small, least[1])
}
