package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
)

// TestTheREADMEsLintIsWhatLintPrints runs each lint of testdata/readme/tools.json that README.md shows.
func TestTheREADMEsLintIsWhatLintPrints(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join("testdata", "readme"))
	found := 0
	for _, session := range strings.Split(string(readme), "\n$ ")[1:] {
		line, shown, _ := strings.Cut(session, "\n")
		if !strings.HasPrefix(line, "indus mcp lint --file ") {
			continue
		}
		shown, _, _ = strings.Cut(shown, "```")
		found++
		var said strings.Builder
		command.Run(t.Context(), strings.Fields(line)[1:], show.New(strings.NewReader(""), &said, &said), tree)
		if diff := cmp.Diff(strings.TrimSpace(shown), strings.TrimSpace(said.String())); diff != "" {
			t.Errorf("%s: -README +printed:\n%s", line, diff)
		}
	}
	if found == 0 {
		t.Error("README.md shows no lint of a file")
	}
}
