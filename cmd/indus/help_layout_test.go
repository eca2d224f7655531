package main

import (
	"fmt"
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

// firstPages are the commands that people meet first. Their help texts are golden files.
var firstPages = []string{
	"", "mcp", "mcp add", "mcp ls", "mcp call", "mcp find", "mcp import", "serve", "connect", "approvals",
}

// TestHelpReadsWell lays out the help of every command as a terminal of 60, 80 and 120 columns shows it.
func TestHelpReadsWell(t *testing.T) {
	for _, c := range allCommands() {
		for _, width := range []int{60, 80, 120} {
			text := command.WholeHelp(c, width)
			for _, wrong := range faultsOf(text, min(width, 100)) {
				t.Errorf("%s -h in %d columns: %s", c.CommandPath(), width, wrong)
			}
			words := " " + strings.Join(wordsOf(text), " ") + " "
			c.Flags().VisitAll(func(f *pflag.Flag) {
				_, usage, ok := strings.Cut(f.Usage, "  ")
				if !ok {
					usage = f.Usage
				}
				usage = strings.Join(strings.Fields(usage), " ")
				if isOwn := c.Root().PersistentFlags().Lookup(f.Name) != f && f.Name != "version" && f.Name != "help"; isOwn &&
					!strings.Contains(words, " "+usage+" ") {
					t.Errorf("%s -h in %d columns does not have the text of --%s in one piece: %s", c.CommandPath(), width, f.Name,
						usage)
				}
			})
			if width == 80 && slices.Contains(firstPages, strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), "indus"), " ")) {
				compareGolden(t, c, text)
			}
		}
	}
}

func compareGolden(t *testing.T, c *cobra.Command, text string) {
	t.Helper()
	file := filepath.Join("testdata", "help", strings.ReplaceAll(c.CommandPath(), " ", "-")+".txt")
	text = strings.ReplaceAll(text, command.ModuleVersion(), "VERSION") + "\n"
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if golden, err := os.ReadFile(file); err != nil || string(golden) != text {
		t.Errorf("%s -h is not as in %s (%v); look at the difference, then: go test -run HelpReadsWell ./cmd/indus/. -update\n%s",
			c.CommandPath(), file, err, text)
	}
}

// TestManualPagesReadWell renders every manual page, and checks its sections and its layout.
func TestManualPagesReadWell(t *testing.T) {
	for _, c := range allCommands() {
		page := command.ManPage(c, "")
		for _, width := range []int{60, 80, 120} {
			text, err := renderRoff(page, width-2)
			if err != nil {
				t.Fatalf("%s: %v", c.CommandPath(), err)
			}
			for _, wrong := range faultsOf(text, width-2) {
				t.Errorf("manual page of %s in %d columns: %s\n%s", c.CommandPath(), width, wrong, text)
			}
			text = "\n" + text
			at := 0
			for _, section := range []string{"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "SEE ALSO"} {
				i := strings.Index(text[at:], "\n"+section+"\n       ")
				if section == "EXAMPLES" {
					i = strings.Index(text[at:], "\n"+section+"\n  ")
				}
				if i < 0 {
					t.Errorf("manual page of %s: no section %s in its place", c.CommandPath(), section)
					break
				}
				at += i
			}
		}
	}
}

// TestManualPagesNameStdin checks that "-", an argument, is no mark of a list.
func TestManualPagesNameStdin(t *testing.T) {
	for _, c := range allCommands() {
		text, err := renderRoff(command.ManPage(c, ""), 78)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(c.Long, "  -            a whole") != strings.Contains(text, "\n       -      a whole JSON object from stdin\n") {
			t.Errorf("manual page of %s: the argument - is not there\n%s", c.CommandPath(), text)
		}
	}
}

func allCommands() (all []*cobra.Command) {
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		all = append(all, c)
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(command.NewRoot(show.New(nil, io.Discard, io.Discard), tree))
	return all
}

// wordsOf returns the words of a text without the backslashes that fold a command.
func wordsOf(text string) []string {
	return slices.DeleteFunc(strings.Fields(text), func(word string) bool { return word == `\` })
}

var twoBlanks = regexp.MustCompile(`^ +\S.*?   *`)

// faultsOf returns the faults of a page as a reader sees them: lines beyond the width, breaks in mid-sentence, sections
// without a text, and stray empty lines. It knows nothing of how the page was made.
func faultsOf(page string, width int) (faults []string) {
	lines := strings.Split(page, "\n")
	section, isExample := "", false
	for i, line := range lines {
		next := ""
		if i+1 < len(lines) {
			next = lines[i+1]
		}
		indent, nextIndent := indentOf(line), indentOf(next)
		if line != "" && indent == 0 {
			isExample = false
			if section = line; strings.HasSuffix(line, ":") && next == "" || strings.ToUpper(line) == line && next == "" {
				if indentAfter(lines[i+1:]) == 0 {
					faults = append(faults, "a section without a text: "+line)
				}
			}
		}
		isExample = section == "A session:" || section == "EXAMPLES" ||
			line != "" && indent > 0 && (isExample || i > 0 && lines[i-1] == "" && (isCode(line)))
		fits := width
		if isExample && strings.ToUpper(section) == section { // roff cannot fold an example
			fits = max(width, 78)
		}
		if n := show.Columns(line); n > fits && strings.Contains(strings.TrimSpace(line), " ") {
			faults = append(faults, fmt.Sprintf("a line of %d columns: %s", n, line))
		}
		if strings.TrimRight(line, " ") != line {
			faults = append(faults, "blanks at the end of "+line)
		}
		switch {
		case line == "" && next == "" && i+1 < len(lines)-1:
			faults = append(faults, fmt.Sprintf("two empty lines after line %d", i))
		case isExample || line == "" || next == "" || section == "" && indent > 0:
		default:
			column := indent
			if head := twoBlanks.FindString(line); head != "" && len(head) < len(line) {
				column = show.Columns(head)
			}
			word, _, _ := strings.Cut(strings.TrimSpace(next), " ")
			continues := nextIndent == column && indent > 0 && nextIndent > 0 || indent == 0 && nextIndent == 0
			if twoBlanks.MatchString(next) || strings.HasPrefix(word, "-") || word == "indus" && indent > 0 {
				continues = false
			}
			if continues && show.Columns(line)+1+show.Columns(word) <= width {
				faults = append(faults, fmt.Sprintf("a break in mid-sentence after %q", line))
			}
		}
	}
	return faults
}

// isCode reports whether an indented line after an empty one begins an example.
func isCode(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, `"`) || strings.HasPrefix(line, "{") || strings.HasPrefix(line, "$ ")
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// indentAfter returns the indentation of the first line that is not empty.
func indentAfter(lines []string) int {
	for _, line := range lines {
		if line != "" {
			return indentOf(line)
		}
	}
	return 0
}

// renderRoff renders a manual page of indus as man does: with the macros that the pages use, and no other.
func renderRoff(page string, width int) (string, error) {
	var out []string
	in, hang, filled, tag := 0, 0, true, ""
	text := ""
	flush := func() {
		if text == "" {
			return
		}
		before := strings.Repeat(" ", in)
		if tag != "" {
			before = show.Pad("       "+tag, in)
			if show.Columns(tag)+9 > in {
				out, before = append(out, "       "+tag), strings.Repeat(" ", in)
			}
			tag = ""
		}
		lines := show.WrapTo(text, in+hang, width)
		lines[0] = before + strings.TrimLeft(lines[0], " ")
		out, text = append(out, lines...), ""
	}
	blank := func() {
		flush()
		if last := len(out) - 1; last > 0 && out[last] != "" && indentOf(out[last]) != 0 && indentOf(out[last]) != 3 {
			out = append(out, "")
		}
	}
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		macro, rest, _ := strings.Cut(line, " ")
		switch {
		case !strings.HasPrefix(macro, "."):
			line = strings.NewReplacer(`\fB`, "", `\fR`, "", `\-`, "-", `\(aq`, "'", `\&`, "", `\e`, `\`).Replace(line)
			switch {
			case !filled:
				out = append(out, strings.TrimRight(strings.Repeat(" ", in)+line, " "))
			case text != "":
				return "", fmt.Errorf("roff joins %q and %q", text, line)
			case tag == "?":
				tag = line
			default:
				text = line
			}
		case macro == ".TH" || macro == ".nh" || macro == ".ad":
		case macro == ".SH":
			blank()
			out, in, hang = append(out, rest), 7, 0
		case macro == ".SS":
			blank()
			out, in, hang = append(out, "   "+strings.NewReplacer(`\-`, "-", `\(aq`, "'").Replace(rest)), 7, 0
		case macro == ".PP":
			blank()
			in, hang = 7, 0
		case macro == ".HP":
			blank()
			in, hang = 7, 4
		case macro == ".TP":
			blank()
			in, hang, tag = 14, 0, "?"
		case macro == ".IP":
			blank()
			in, hang, tag = 9, 0, "-"
		case macro == ".nf":
			flush()
			filled = false
		case macro == ".fi":
			filled = true
		case macro == ".in":
			in = map[string]int{"2n": 2, "+2n": 9, "": 7}[rest]
		case macro == ".BR":
			text += strings.ReplaceAll(strings.ReplaceAll(rest, `\-`, "-"), " ", "") + " "
		default:
			return "", fmt.Errorf("no macro %s is known", macro)
		}
	}
	blank()
	return strings.Join(out, "\n"), nil
}
