package session_test

import (
	"strings"
	"testing"

	"github.com/indusagi/indus/cmd/indus/internal/session"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/toolbox"
)

// TestAnAttachedResourceIsSentOnce checks the text of a resource that a prompt mentions.
func TestAnAttachedResourceIsSentOnce(t *testing.T) {
	text := func(s string) show.Resource { return show.Resource{URI: "file:///t.md", Text: &s} }
	full := strings.Repeat("x", toolbox.DefaultBudget)
	for want, contents := range map[string][]show.Resource{
		"| # Title\n| The port is 7332.":    {text("# Title\nThe port is 7332.\n")},
		"| a\n| b":                          {text("a"), text("b")},
		"| ":                                {text("")},
		"| " + full:                         {text(full)},
		`| [image/png 96 bytes, not shown]`: {{MimeType: "image/png", Blob: strings.Repeat("AAAA", 32)}},
	} {
		if got := session.ResourceText(contents); got != want {
			t.Errorf("%.100q, want %.100q", got, want)
		}
	}
	if got := session.ResourceText([]show.Resource{text(full + "y")}); len(got) > len(full)+10 || !strings.Contains(got, "bytes cut") {
		t.Errorf("%d bytes: %.100q", len(got), got)
	}
}
