package show_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/cmd/indus/internal/show"
)

// TestLinesAreWrapped compares texts with their lines on a terminal of 40 columns.
func TestLinesAreWrapped(t *testing.T) {
	long := "/" + strings.Repeat("directory/", 5) + "mcp.json"
	for message, want := range map[string][]string{
		"indus: it is short": {"indus: it is short"},
		"indus: the words of a message go on below": {
			"indus: the words of a message go on", "  below",
		},
		"indus: " + long + ": it cannot be read here": {"indus: " + long + ":", "  it cannot be read here"},
		"indus: no servers: indus mcp add NAME, or see indus mcp -h": {
			"indus: no servers: indus mcp add NAME,", "  or see indus mcp -h",
		},
		"indus: approve it here: indus mcp approve one --mcp some/file.json": {
			"indus: approve it here:", "  indus mcp approve one --mcp some/file.json",
		},
		"indus: call it: indus mcp call t 'a=b; c d'; or leave it": {
			"indus: call it:", "  indus mcp call t 'a=b; c d'; or leave", "  it",
		},
		"indus: here indus does not ask the person, and so on": {
			"indus: here indus does not ask the", "  person, and so on",
		},
		`indus: set "approvals": "every call" first, and "one that is so long that it needs two lines"`: {
			`indus: set "approvals": "every call"`, `  first, and "one that is so long that`, `  it needs two lines"`,
		},
		"indus: two of them:\n  indus mcp accept everything/echo/with/a/name": {
			"indus: two of them:", "  indus mcp accept everything/echo/with/a/name",
		},
		"  note  files      none; looked for: some/file.json": {
			"  note  files      none; looked for:", "                   some/file.json",
		},
		"2026-07-28 15:04:05  K3F9  enrolled  fs  read_file": {
			"2026-07-28 15:04:05  K3F9  enrolled  fs", "  read_file",
		},
		"2026-07-28 15:04:05  K3F9  enrolled  fsa  read_file": { // two blanks at the end of a line
			"2026-07-28 15:04:05  K3F9  enrolled  fsa", "  read_file",
		},
		"indus: no such thing is known here; see indus -h": {
			"indus: no such thing is known here; see", "  indus -h",
		},
		"indus: more about the words: indus -h lists all": {
			"indus: more about the words: indus -h", "  lists all",
		},
		`    {"a": "text of JSON that is left as it is", "b": 1}`: {
			`    {"a": "text of JSON that is left as it is", "b": 1}`,
		},
		`indus: type "indus serve" (or "indus mcp ls")`: {`indus: type "indus serve" (or`, `  "indus mcp ls")`},
	} {
		got := show.WrapLines(message, 40, []string{"mcp", "serve", "-h"})
		if diff := cmp.Diff(want, strings.Split(got, "\n")); diff != "" {
			t.Errorf("%s: %s", message, diff)
		}
		if words := strings.Fields(got); !slices.Equal(words, strings.Fields(message)) {
			t.Errorf("%s: other words: %s", message, got)
		}
	}
}
