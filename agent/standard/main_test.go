package standard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/indusagi/indus/agent/standard"
	"github.com/indusagi/indus/toolbox"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(sessionDir); dir != "" {
		session(dir)
	}
	goleak.VerifyTestMain(m)
}

// tree makes a directory with files. A name that ends in "/" is a directory.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		parent := filepath.Dir(path)
		if name[len(name)-1] == '/' {
			parent = path
		}
		if err := os.MkdirAll(parent, 0o755); err != nil {
			t.Fatal(err)
		}
		if parent == path {
			continue
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// readRegistry returns a context for dir, and a registry with the reading tools over it.
func readRegistry(t testing.TB, dir string) (*toolbox.Context, *toolbox.Registry) {
	t.Helper()
	tc, err := toolbox.NewContext(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := toolbox.NewRegistry(tc)
	r.Add(standard.ReadOnly()...)
	return tc, r
}

// newDeck returns a deck that is closed when the test ends.
func newDeck(t testing.TB) *standard.Deck {
	t.Helper()
	deck := standard.New(nil)
	t.Cleanup(deck.Close)
	return deck
}

// fullRegistry returns a registry with all tools over dir.
func fullRegistry(t testing.TB, dir string) *toolbox.Registry {
	t.Helper()
	tc, err := toolbox.NewContext(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := toolbox.NewRegistry(tc)
	r.Add(newDeck(t).Tools()...)
	return r
}

// call runs a tool and returns its text. It puts "error: " before the text of an error result.
func call(t testing.TB, r *toolbox.Registry, name, input string) string {
	t.Helper()
	result, err := r.Do(context.Background(), toolbox.Call{Name: name, Input: json.RawMessage(input)})
	if err != nil {
		t.Fatalf("%s %s: %v", name, input, err)
	}
	text := *result.Blocks()[0].Text
	if result.IsError() {
		return "error: " + text
	}
	return text
}

// cancelled is a context that ends after a number of checks.
type cancelled struct {
	context.Context
	checks int
}

func (c *cancelled) Err() error {
	if c.checks--; c.checks < 0 {
		return context.Canceled
	}
	return nil
}

// endsWith checks that a tool ends with its context at any point of its run.
func endsWith(t *testing.T, r *toolbox.Registry, most int, name, input string) {
	t.Helper()
	for checks := range most {
		_, err := r.Do(&cancelled{t.Context(), checks}, toolbox.Call{Name: name, Input: json.RawMessage(input)})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("after %d looks at the context: %v", checks, err)
		}
	}
}

func link(t testing.TB, to, at string) {
	t.Helper()
	if err := os.Symlink(to, at); err != nil {
		t.Skip(err)
	}
}

// sessionDir names the variable that turns the test binary into a session in a directory.
const sessionDir = "INDUS_STANDARD_SESSION"

// session runs a process and a command that ignore all signals, prints their process ids, and waits to be
// killed.
func session(dir string) {
	tc, err := toolbox.NewContext(dir)
	if err != nil {
		panic(err)
	}
	r := toolbox.NewRegistry(tc)
	r.Add(standard.New(nil).Tools()...)
	const stubborn = `trap '' TERM HUP INT; sleep 1000 & echo $$ $!; while :; do sleep 1000; done`
	printed := make(chan string)
	go r.Do(context.Background(), toolbox.Call{
		Name:     "bash",
		Input:    json.RawMessage(`{"command":` + strconv.Quote(stubborn) + `}`),
		Progress: func(p toolbox.Progress) { printed <- p.Message },
	})
	result, err := r.Do(context.Background(), toolbox.Call{
		Name:  "process",
		Input: json.RawMessage(`{"action":"start","wait":60,"command":` + strconv.Quote(stubborn) + `}`),
	})
	if err != nil {
		panic(err)
	}
	line, _, _ := strings.Cut(*result.Blocks()[0].Text, "\n")
	if _, err := exec.LookPath("setsid"); err == nil &&
		runtime.GOOS == "linux" { // processes that left their session end too
		stray, err := r.Do(context.Background(), toolbox.Call{Name: "bash", Input: json.RawMessage(
			`{"command":"setsid -f sh -c 'echo $$ >&3; exec sleep 1000 3>&-' 3>pid >/dev/null 2>&1; until [ -s pid ]; do sleep 0.01; done; cat pid"}`)})
		if err != nil {
			panic(err)
		}
		line += " " + *stray.Blocks()[0].Text
	}
	fmt.Println(line, <-printed)
	_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed, or its parent dies
	os.Exit(1)
}
