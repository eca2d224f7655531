package show_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/indusagi/indus/cmd/indus/internal/show"
)

// A deep document is not longer on a terminal than it is written.
func TestADeepDocumentStaysOnOneLine(t *testing.T) {
	for depth, lines := range map[int]int{0: 1, 200: 401, 201: 1, 9000: 1} {
		raw := strings.Repeat("[", depth) + "1" + strings.Repeat("]", depth)
		got := show.IndentJSON(json.RawMessage(raw))
		if n := strings.Count(got, "\n") + 1; n != lines {
			t.Errorf("depth %d: %d lines", depth, n)
		}
	}
}
