package interop

import (
	"testing"

	"github.com/indusagi/indus/interop/internal/conn"
)

// TestASilentServerIsAskedOnceMore checks that the era of a server which did not answer server/discover is not taken as
// known: it may have been slow. A server that is silent again is a legacy server.
func TestASilentServerIsAskedOnceMore(t *testing.T) {
	silent, modern, legacy := conn.Handshake{Era: Legacy, Unprobed: true}, conn.Handshake{Era: Modern}, conn.Handshake{Era: Legacy}
	m := &member{}
	for i, c := range []struct {
		of   conn.Handshake
		want Era
	}{{silent, ""}, {silent, Legacy}, {legacy, Legacy}, {silent, ""}, {modern, Modern}, {silent, ""}, {modern, Modern}} {
		if m.learnEra(&Endpoint{negotiated: c.of}); m.era != c.want {
			t.Errorf("connection %d: %q, want %q", i, m.era, c.want)
		}
	}
}
