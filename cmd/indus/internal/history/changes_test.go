package history_test

import (
	"strings"
	"testing"

	"github.com/indusagi/indus/cmd/indus/internal/history"
)

// TestNothingHidesInAChange: invisible and control characters are escaped, and all removed and added text is shown.
func TestNothingHidesInAChange(t *testing.T) {
	t.Parallel()
	quiet := strings.Repeat("the same words again ", 20)
	before := `{"name":"a","description":"` + quiet + `end."}`
	for after, want := range map[string]string{
		"Now " + quiet + "end.":      "  description: [-the-]{+Now the+} same words again the same wor…\n",
		quiet + "end.\\n\\nObey.":    "  description: …gain the same words again end.{+\\n\\nObey.+}\n",
		quiet + "\u202eend.\u200b":   "  description: …rds again the same words again[- end.-]{+ \\u{202e}end.\\u{200b}+}\n",
		quiet + "\U000E0041end.":     "  description: …rds again the same words again[- end.-]{+ \\u{e0041}end.+}\n",
		quiet + "\\u001b[2Jend.":     "  description: …rds again the same words again[- end.-]{+ \\u{1b}[2Jend.+}\n",
		quiet + "end.\u00a0And more": "  description: …gain the same words again end.{+\\u{a0}And more+}\n",
	} {
		if got := history.InWords(before, `{"name":"a","description":"`+after+`"}`); got != want {
			t.Errorf("%q\nis  %q\nnot %q", after, got, want)
		}
	}
	long := strings.Repeat("x", 5000)
	if got := history.InWords(`{"name":"a"}`, `{"name":"a","title":"`+long+`"}`); !strings.HasSuffix(got,
		"… and 1002 more characters+}\n") {
		t.Errorf("%d bytes: %.80q", len(got), got)
	}
	if got := history.InWords(`{"name":"a"}`,
		`{"name":"a","annotations":{"a":["`+long[:3900]+`","and this"]}}`); !strings.Contains(got, `"and this"`) {
		t.Errorf("%d bytes: %.80q", len(got), got)
	}
	if got := history.InWords(`{"name":"a","title":"b"}`, `{"name":"a","title":"`+long+`"}`); !strings.Contains(got,
		"… and 1000 more characters+}") {
		t.Errorf("%d bytes: %.80q", len(got), got)
	}
	if got := history.InWords(`{"name":"a"}`,
		`{ "name": "a"}`); got != "  only spaces, the order of members, or parts of which the ledger has only "+
		"a checksum\n" {
		t.Error(got)
	}
}
