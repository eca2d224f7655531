package peers

import (
	"os"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
)

// Hostile starts MCP servers whose texts try to become markup or to control a terminal. It returns an address: each
// path below it is a server with 40 tools.
func Hostile(t testing.TB) (url string) {
	t.Helper()
	return listening(t, "hostile.mjs")
}

// Restarted starts the servers of restarted.mjs, which can lose their sessions as in a restart, and returns their URL.
func Restarted(t testing.TB) (url string) {
	t.Helper()
	return listening(t, "restarted.mjs")
}

// listening starts a file of ours that prints its URL.
func listening(t testing.TB, name string) (url string) {
	t.Helper()
	p := fixture.Start(t, fixture.Command{Path: Node(t), Args: []string{File(t, name)}})
	url = p.Line()
	p.Drain()
	return url
}

// Page uses the page of an indus serve in a real browser: with a keyboard, a mouse, a checker of accessibility, and as
// an attacker. given has "site", "link" (for one use) and what page.mjs needs else.
func Page(t testing.TB, given map[string]any) {
	t.Helper()
	for _, pkg := range []string{"@sparticuz/chromium", "puppeteer-core", "axe-core"} {
		installed(t, pkg)
	}
	// A change of these files is a change of the test.
	for _, name := range []string{"page.mjs", "chromium.mjs", "hostile.mjs", "work.mjs"} {
		if _, err := os.ReadFile(File(t, name)); err != nil {
			t.Fatal(err)
		}
	}
	out, err := run(t, Node(t), []string{File(t, "page.mjs"), encoded(t, given)})
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "ok ") {
			t.Log(strings.TrimSpace(line))
		} else {
			t.Error(strings.TrimSpace(line))
		}
	}
	if err != nil {
		t.Error(err)
	}
}
