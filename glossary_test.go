package indus_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestGlossaryHasEveryNameOfTheSeeds checks that the glossary has every name of the Rust and Python editions.
// testdata/seeds lists these names, with a file for each page of the editions. Names of their libraries are left out
// there.
func TestGlossaryHasEveryNameOfTheSeeds(t *testing.T) {
	known := map[string]bool{}
	for _, page := range []string{"docs/glossary.md", "docs/departures.md"} {
		for _, span := range regexp.MustCompile("`[^`]+`").FindAllString(read(t, page), -1) {
			for _, word := range seedName.FindAllString(span, -1) {
				known[word] = true
			}
		}
	}
	seeds, err := filepath.Glob("testdata/seeds/*.txt")
	if err != nil || len(seeds) != 4 {
		t.Fatal(seeds, err)
	}
	for _, seed := range seeds {
		names, err := os.ReadFile(seed)
		if err != nil {
			t.Fatal(err)
		}
		for name := range strings.FieldsSeq(string(names)) {
			for _, word := range seedName.FindAllString(name, -1) {
				if !known[word] {
					t.Errorf("%s: %s is neither in docs/glossary.md nor among the departures", seed, name)
				}
			}
		}
	}
}

var seedName = regexp.MustCompile(`--[a-z-]+|\w+`)
