package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestHelpTellsEverything checks that each help text has the usage, each flag and an example session. Commands that
// contact servers also list the exit codes. All lines must fit.
func TestHelpTellsEverything(t *testing.T) {
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		text := command.HelpText(c)
		wanted := []string{"Usage:\n  indus", "A session:\n  $ "}
		if path := c.CommandPath(); c.Name() != "help" && (path == "indus" || strings.HasPrefix(path, "indus mcp") ||
			strings.HasPrefix(path, "indus op") || path == "indus serve") {
			wanted = append(wanted, "Exit codes:\n  0    ")
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "version" { // it is also a command
				wanted = append(wanted, "  --"+f.Name)
			}
		})
		for _, w := range wanted {
			if !strings.Contains(text, w) && !strings.Contains(text, strings.TrimSpace(w)) {
				t.Errorf("%s -h does not have %q", c.CommandPath(), w)
			}
		}
		if name := command.CommandPath(c); name != "indus" && name != "mcp" && c.Name() != "help" {
			callsTools := name == "mcp call" || strings.HasPrefix(name, "op")
			if strings.Contains(text, "\n  5    ") != callsTools {
				t.Errorf("%s -h: exit code 5 is of commands that call a tool", c.CommandPath())
			}
			if strings.Contains(text, "With --json, an error") && c.Flags().Lookup("json") == nil {
				t.Errorf("%s -h explains --json, which it does not have", c.CommandPath())
			}
		}
		for _, width := range []int{60, 80} {
			narrow := show.Reflow(text, width)
			if !slices.Equal(wordsOf(narrow), wordsOf(text)) {
				t.Errorf("%s -h has other words in %d columns:\n%s", c.CommandPath(), width, narrow)
			}
			before, _, _ := strings.Cut(narrow, "\n\nA session:")
			_, before, _ = strings.Cut(before, "\n\nFlags:")
			for line := range strings.Lines(before) {
				if n := len([]rune(strings.TrimRight(line, "\n"))); n > width && strings.Contains(strings.TrimSpace(line), " ") {
					t.Errorf("%s -h: %d columns on a terminal that has %d: %s", c.CommandPath(), n, width, line)
				}
			}
		}
		for line := range strings.Lines(text) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > 100 {
				t.Errorf("%s -h: a line of %d columns: %s", c.CommandPath(), n, line)
			}
		}
		if strings.HasSuffix(text, "\n") || c.Short == "" {
			t.Errorf("%s: the help ends in an empty line, or it has no short text", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(command.NewRoot(show.New(nil, io.Discard, io.Discard), tree))
}

// TestDocumentedCommandsExist checks that commands in the documents exist and have the flags.
func TestDocumentedCommandsExist(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	typed := regexp.MustCompile("(?m)^(?:    |\\$ )(indus .*?)(?:  +#.*| [|>].*)?$|`(indus [^`\n]*)`")
	quoted := regexp.MustCompile(`"[^"]*"|'[^']*'`)
	found := 0
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range typed.FindAllStringSubmatch(string(text), -1) {
			words := strings.Fields(quoted.ReplaceAllString(m[1]+m[2], "TEXT"))[1:]
			cmd, rest, err := command.NewRoot(show.New(nil, io.Discard, io.Discard), tree).Find(words)
			if err == nil {
				err = cmd.ParseFlags(rest)
			}
			if err == nil && cmd.HasSubCommands() {
				err = cmd.ValidateArgs(cmd.Flags().Args())
			}
			if err != nil && !strings.Contains(err.Error(), "needs an argument") && !strings.Contains(err.Error(),
				"help requested") {
				t.Errorf("%s: %s%s: %v", page, m[1], m[2], err)
			}
			found++
		}
	}
	if found < 100 {
		t.Errorf("only %d commands were found", found)
	}
}
