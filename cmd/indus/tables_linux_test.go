package main

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestTablesReadWell looks at the tables and lists of commands, with rows of real servers, on terminals of 60, 80 and 120
// columns.
func TestTablesReadWell(t *testing.T) {
	known := commands()
	known["screen"] = func(ts *testscript.TestScript, _ bool, args []string) {
		if len(args) < 3 {
			ts.Fatalf("usage: screen CODE PATTERN indus [ARG]...  check stdout on terminals")
		}
		checkScreens(ts, args[0], regexp.MustCompile("(?m)"+args[1]), args[2:])
	}
	testscript.Run(t, testscript.Params{
		Files: []string{"testdata/terminal/tables.txtar"}, RequireExplicitExec: true, Setup: setup, Cmds: known,
	})
}

// checkScreens runs a command with a pipe and with terminals as stdout. All of them show the same, and read well.
func checkScreens(ts *testscript.TestScript, code string, pattern *regexp.Regexp, args []string) {
	program, err := exec.LookPath(programFor(args[1:]))
	ts.Check(err)
	t := ts.Value("scene").(*scene).t
	run := func(width int) string {
		cmd := exec.Command(program, args[1:]...)
		cmd.Dir, cmd.Env = ts.MkAbs("."), append(cmd.Environ(), append(scriptEnvironment(ts), "TERM=xterm")...)
		var stderr strings.Builder
		var err error
		cmd.Stderr = &stderr
		text := ""
		if width == 0 {
			var out []byte
			out, err = cmd.Output()
			text = string(out)
		} else {
			seen, tty := pseudoTerminal(t, uint16(width), 24)
			cmd.Stdout = tty
			err = cmd.Run()
			_, _ = fmt.Fprint(tty, "\x04")
			seen.waitFor(t, "\x04", nil)
			text = strings.ReplaceAll(strings.TrimSuffix(seen.String(), "\x04"), "\r\n", "\n")
		}
		got, exit := 0, (*exec.ExitError)(nil)
		if errors.As(err, &exit) {
			got = exit.ExitCode()
		}
		if strconv.Itoa(got) != code {
			text += fmt.Sprintf("\nexit code %d, want %s: %s", got, code, stderr.String())
		}
		return text
	}
	whole, widest := run(0), 0
	if !pattern.MatchString(whole) {
		t.Errorf("%q does not match %s:\n%s", args, pattern, whole)
	}
	for line := range strings.Lines(whole) {
		widest = max(widest, show.Columns(line)-1)
	}
	var looks sync.WaitGroup
	for _, width := range []int{60, 80, 120} {
		if width > 60 && widest <= width { // it has nothing to fit
			continue
		}
		looks.Go(func() {
			text := run(width)
			if faults := screenFaults(text, whole, width); len(faults) > 0 {
				t.Errorf("%q in %d columns: %s\n%s", args, width, strings.Join(faults, "\n"), text)
			}
		})
	}
	looks.Wait()
}

var (
	headRow  = regexp.MustCompile(`^ *[A-Z][A-Z0-9, ]+$`)
	headCell = regexp.MustCompile(`[A-Z0-9,]+(?: [A-Z0-9,]+)*`)
	// changing matches the parts of a text that differ between two runs of a command.
	changing = regexp.MustCompile(`[0-9][0-9.:]*(?:ms|µs|s|m)?`)
)

// screenFaults returns the faults of a text on a terminal: lines beyond the width, and words that are split. It also
// finds heads that run into each other or do not stand above their column, and headings above nothing.
func screenFaults(text, whole string, width int) (faults []string) {
	known := map[string]bool{}
	for _, word := range strings.Fields(changing.ReplaceAllString(whole, "0")) {
		known[word] = true
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	var columns []int
	for i, line := range lines {
		isCopied := line != "" && strings.ContainsAny(strings.TrimLeft(line, " ")[:1], `{}[]"`) ||
			strings.HasPrefix(strings.TrimLeft(line, " "), "indus ")
		if n := show.Columns(line); n > width && !isCopied && strings.Contains(strings.TrimSpace(line), " ") {
			faults = append(faults, fmt.Sprintf("a line of %d columns: %s", n, line))
		}
		for _, word := range strings.Fields(changing.ReplaceAllString(line, "0")) {
			if !known[word] && !strings.Contains(word, "…") {
				faults = append(faults, fmt.Sprintf("%q in %q is split, or is not in the output of a pipe", word, line))
			}
		}
		isHead := headRow.MatchString(line)
		switch {
		case isHead:
			columns = columns[:0]
			for _, cell := range headCell.FindAllStringIndex(line, -1) {
				columns = append(columns, cell[0])
			}
		case line == "" || indentOf(line) > 0 && columns != nil && columns[0] == 0:
			columns = nil
		}
		runes := []rune(line)
		isMixed := func(at int) bool { return at > 1 && at < len(runes) && (runes[at-1] != ' ' || runes[at-2] != ' ') }
		if slices.ContainsFunc(columns, isMixed) {
			faults = append(faults, fmt.Sprintf("the columns %v run into each other in %q", columns, line))
		}
		next := ""
		if i+1 < len(lines) {
			next = lines[i+1]
		}
		switch {
		case isHead && (next == "" || indentOf(next) > indentOf(line)):
			faults = append(faults, "a heading above nothing: "+line)
		case strings.HasSuffix(line, ":") && (next == "" || i+1 == len(lines)):
			faults = append(faults, "a title above nothing: "+line)
		case line == "" && (i == 0 || next == "" && i+1 < len(lines)):
			faults = append(faults, fmt.Sprintf("an empty line %d at an edge or beside another", i+1))
		}
	}
	return faults
}
