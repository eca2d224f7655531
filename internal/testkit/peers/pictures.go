package peers

import (
	"os"
	"strings"
	"testing"
)

// Look describes the pictures of a page that are taken.
type Look struct {
	Site string `json:"site"`
	Link string `json:"link"` // for one use
	Dir  string `json:"dir"`  // for the pictures
	// Paths has the paths of the page by the name of their pictures.
	Paths map[string]string `json:"paths"`
	// Known has texts that differ in each run, and their replacements.
	Known map[string]string `json:"known"`
	// Broken has a path and a script that breaks the layout there, by the name of the picture.
	Broken map[string][2]string `json:"broken,omitempty"`
}

// Pictures takes pictures of a page in a real browser, and fails for each flaw that needs no picture. It returns their names.
// Those of the broken layouts are in flawed, with the report whether their flaw was found without the picture.
func Pictures(t testing.TB, l *Look) (names []string, flawed map[string]bool) {
	t.Helper()
	for _, pkg := range []string{"@sparticuz/chromium", "puppeteer-core", "axe-core"} {
		installed(t, pkg)
	}
	for _, name := range []string{"pictures.mjs", "look.mjs", "chromium.mjs"} { // a change of them is a change of the test
		if _, err := os.ReadFile(File(t, name)); err != nil {
			t.Fatal(err)
		}
	}
	out, err := run(t, Node(t), []string{File(t, "pictures.mjs"), encoded(t, l)})
	flawed = map[string]bool{}
	for line := range strings.Lines(out) {
		switch words := strings.Fields(line); {
		case len(words) == 2 && words[0] == "picture":
			names = append(names, words[1])
		case len(words) == 3 && words[0] == "broken":
			flawed[words[1]] = words[2] != "0"
		default:
			t.Error(strings.TrimSpace(line))
		}
	}
	if err != nil {
		t.Error(err)
	}
	return names, flawed
}
