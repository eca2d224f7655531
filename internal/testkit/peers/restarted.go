package peers

import (
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
)

// Restarted starts the servers of restarted.mjs, which can lose their sessions as in a restart, and returns their URL.
func Restarted(t testing.TB) string {
	t.Helper()
	p := fixture.Start(t, fixture.Command{Path: Node(t), Args: []string{File(t, "restarted.mjs")}})
	url := p.Line()
	p.Drain()
	return url
}
