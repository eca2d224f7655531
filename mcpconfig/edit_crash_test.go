package mcpconfig_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/indusagi/indus/mcpconfig"
)

// editorEnv makes TestEditor a process that edits a file. Its value is "PATH NAME
// COUNT". The process sets the servers NAME0 to NAME(COUNT-1), and prints a line
// after each save.
const editorEnv = "INDUS_TEST_EDITOR"

// editor starts such a process.
func editor(t *testing.T, path, name string, count int) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestEditor$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d", editorEnv, path, name, count))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// TestEditor is the other process of the tests below. If editorEnv is not set, it
// checks that such a process works.
func TestEditor(t *testing.T) {
	var path, name string
	var count int
	if n, _ := fmt.Sscan(os.Getenv(editorEnv), &path, &name, &count); n != 3 {
		cmd, lines := editor(t, filepath.Join(t.TempDir(), "mcp.json"), "s", 1)
		if !lines.Scan() || lines.Text() != "saved s0" {
			t.Errorf("it says %q", lines.Text())
		}
		for lines.Scan() {
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		return
	}
	for i := 0; i < count; {
		id := fmt.Sprintf("%s%d", name, i)
		e, err := mcpconfig.Open(path)
		if err == nil {
			row := fmt.Sprintf(`{"command": %q}`, strings.Repeat(name, 1+i*997%20_000))
			err = errors.Join(e.Set(mcpconfig.Definition{ID: id, JSON: []byte(row)}), drop(e, fmt.Sprintf("%s%d", name, i-20)), e.Save())
		}
		switch {
		case err == nil:
			fmt.Println("saved", id)
			i++
		case !errors.Is(err, mcpconfig.ErrChanged):
			fmt.Println(err)
			os.Exit(1)
		}
	}
	os.Exit(0)
}

// drop removes a server if it is there, so that the file stays small.
func drop(e *mcpconfig.Edit, id string) error {
	if !slices.Contains(e.IDs(), id) {
		return nil
	}
	return e.Remove(id)
}

// A process that is killed during a save leaves the old text or the new text. It
// leaves at most one extra file, which the next save removes.
func TestSaveIsKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "mcp.json")
	const comment = "// never lost"
	write(t, path, "{\n  "+comment+"\n  \"servers\": {}\n}\n")
	for round := range 40 {
		cmd, lines := editor(t, path, string(rune('a'+round%26)), 1<<30)
		last := ""
		for range 1 + round%7 {
			if !lines.Scan() {
				t.Fatal("the editor has ended")
			}
			last = lines.Text()
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
			last = lines.Text()
		}
		_ = cmd.Wait()
		e := opened(t, path)
		if id, ok := strings.CutPrefix(last, "saved "); !ok || !slices.Contains(e.IDs(), id) {
			t.Fatalf("%q, but the file has %v", last, e.IDs())
		}
		if !strings.Contains(string(e.Text()), comment) {
			t.Fatal("the comment is lost")
		}
		if got := names(t, dir); got != "mcp.json" && got != ".mcp.json.new mcp.json" {
			t.Fatalf("there are %s", got)
		}
	}
	saved(t, path, "end")
	if got := names(t, dir); got != "mcp.json" {
		t.Errorf("there are %s", got)
	}
}

// If several processes edit one file at once, no change is lost.
func TestEditorsAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "mcp.json")
	const each = 15
	var cmds []*exec.Cmd
	var outs []*bufio.Scanner
	for i := range 4 {
		cmd, out := editor(t, path, string(rune('a'+i)), each)
		cmds, outs = append(cmds, cmd), append(outs, out)
	}
	told := 0
	for i, cmd := range cmds {
		for outs[i].Scan() {
			if !strings.HasPrefix(outs[i].Text(), "saved ") {
				t.Error(outs[i].Text())
			}
			told++
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	if ids := opened(t, path).IDs(); told != 4*each || len(ids) != told {
		t.Errorf("%d were saved, %d are there", told, len(ids))
	}
}
