//go:build !race

package gateway_test

import "testing"

// TestControlAllocatesLittle bounds what policy, audit and telemetry together add to a repeated call. The race detector
// allocates more.
func TestControlAllocatesLittle(t *testing.T) {
	none := testing.AllocsPerRun(500, repeated(t))
	all := testing.AllocsPerRun(500, repeated(t, withPolicy, withAudit, withTelemetry))
	if more := all - none; more > 20 {
		t.Errorf("%v allocations more than %v, want 20 at most", more, none)
	}
}
