package serve_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/serve"
)

// TestAFileIsReadOnceItRests checks that half-written files are not read. A file written during its reading is read
// again. A file with only a new time changes nothing.
func TestAFileIsReadOnceItRests(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "servers.json")
	long, soon := time.Now().Add(-time.Hour), time.Now().Add(time.Minute)
	write := func(text string, at time.Time) {
		t.Helper()
		err := os.WriteFile(path, []byte(text), 0o600)
		if err == nil {
			err = os.Chtimes(path, at, at)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var told strings.Builder
	servers := func(ids ...string) string {
		var rows []string
		for _, id := range ids {
			rows = append(rows, fmt.Sprintf(`%q: {"url": "http://127.0.0.1:1/mcp"}`, id))
		}
		return `{"servers": {` + strings.Join(rows, ", ") + `}}`
	}
	write(servers("two"), soon)
	f, g, err := serve.Follow(t.Context(), path, &told)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	looks := func(n int, want string) {
		t.Helper()
		told.Reset()
		for range n {
			f.Look(t.Context())
		}
		if got := told.String(); got != want {
			t.Errorf("it says %q and not %q", got, want)
		}
	}
	write(servers("one"), soon) // as if written during the first read
	looks(2, "indus: the configuration has changed: added one; removed two; 0 unchanged\n")
	looks(3, "")

	write(`{"servers": {`, long.Add(1))
	looks(1, "")
	write(servers("one", "two"), long.Add(2))
	looks(1, "")
	looks(1, "indus: the configuration has changed: added two; 1 unchanged\n")
	looks(3, "")

	told.Reset()
	for n := range 6 { // it keeps changing
		write(servers("one", "two", "three"), long.Add(time.Duration(-n)))
		f.Look(t.Context())
	}
	if got := told.String(); got != "indus: the configuration has changed: added three; 2 unchanged\n" {
		t.Errorf("of a file that never rests it says %q", got)
	}
	looks(2, "")

	write(servers("two", "one"), long.Add(3))
	looks(2, "indus: the configuration has changed: removed three; 2 unchanged\n")
	write(servers("one", "two"), long.Add(4))
	looks(2, "")
	write(servers("two", "one"), long.Add(5))
	looks(2, "")
	if got := g.Attached().Fleet.Servers(); got[0].ID != "two" {
		t.Error("their order is not that of the file")
	}

	write(strings.TrimSuffix(servers("two", "one"), "}")+`, "views": {"v": {}}}`, long.Add(6))
	looks(2, "indus: the configuration has changed: other views; 2 unchanged\n")
	write("\n\n"+strings.TrimSuffix(servers("two", "one"), "}")+`, "views": {"v": {}}}`, long.Add(7))
	looks(2, "")
	write(servers("two", "one"), long.Add(8))
	looks(2, "indus: the configuration has changed: other views; 2 unchanged\n")

	write(`{"servers": {`, long.Add(6))
	looks(5,
		fmt.Sprintf(
			"indus: %s:1:14: ends too early; look for a bracket, a quote or a comment that is not closed; the previous "+
				"configuration stays in use\n", path))
	write(`{"servers": {"a": `, long.Add(7))
	looks(5,
		fmt.Sprintf(
			"indus: %s:1:19: ends too early; look for a bracket, a quote or a comment that is not closed; the previous "+
				"configuration stays in use\n", path))
	write(servers("two", "one"), long.Add(8))
	looks(5, "indus: the configuration can be read again: 2 unchanged\n")

	// A different file of the same size and time counts as a change.
	own := path
	path += ".new"
	write(servers("ten", "one"), long.Add(8))
	if err := os.Rename(path, own); err != nil {
		t.Fatal(err)
	}
	looks(2, "indus: the configuration has changed: added ten; removed two; 1 unchanged\n")
}
