package mcpconfig_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWhenAServerIsConnected(t *testing.T) {
	dir := t.TempDir()
	for row, want := range map[string]struct {
		lazy  *bool
		idle  time.Duration
		notes int
	}{
		`{"command": "x"}`: {nil, 0, 0},
		`{"command": "x", "lazy": true, "idle": "10m"}`:    {new(true), 10 * time.Minute, 0},
		`{"url": "https://h", "lazy": false, "idle": -1}`:  {new(false), -time.Millisecond, 0},
		`{"command": "x", "lazy": "false", "idle": 60000}`: {new(false), time.Minute, 1},
		`{"command": "x", "lazy": 1, "idle": "soon"}`:      {nil, 0, 2},
	} {
		c := readDry(t, dir, `{"servers": {"a": `+row+`}}`)
		if len(c.Servers()) != 1 || len(c.Notes) != want.notes {
			t.Fatalf("%s: %v", row, c.Notes)
		}
		s := c.Servers()[0]
		if diff := cmp.Diff(want.lazy, s.Lazy) + cmp.Diff(want.idle, s.Idle); diff != "" {
			t.Errorf("%s: %s", row, diff)
		}
	}
}
