//go:build !race

package gateway_test

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
)

// TestControlAllocatesLittle bounds what policy, audit and telemetry together add to a repeated call. The race detector
// allocates more.
func TestControlAllocatesLittle(t *testing.T) {
	none := allocations(repeated(t))
	all := allocations(repeated(t, withPolicy, withAudit, withTelemetry))
	if more := all - none; more > 20 {
		t.Errorf("%v allocations more than %v, want 20 at most", more, none)
	}
}

// allocations is the least number of several runs: other goroutines, such as those of sessions that end, add some. A
// collection of garbage would empty pools.
func allocations(call func()) float64 {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	least := math.Inf(1)
	for range 5 {
		runtime.GC()
		call()
		least = min(least, testing.AllocsPerRun(50, call))
	}
	return least
}
