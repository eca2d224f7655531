package ledger_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/toolbox"
)

// giveUp is how long an event may take before a test fails. A test that passes never waits for it.
const giveUp = 60 * time.Second

// shelf is a real server, in its own process, with a file of its tools. The tools have the names of the fixture's
// tools: echo, hang, ….
type shelf struct {
	*fixture.Server
	id, file string
}

func newShelf(t testing.TB, id string, tools ...string) *shelf {
	t.Helper()
	s := &shelf{id: id, file: filepath.Join(t.TempDir(), "tools.json")}
	s.fill(t, tools...)
	s.Server = fixture.New(t, "-list-file", s.file)
	return s
}

// fill changes the tools that the server lists. Send("change") makes the server announce the change.
func (s *shelf) fill(t testing.TB, tools ...string) {
	t.Helper()
	temp := s.file + ".new"
	if err := os.WriteFile(temp, []byte("["+strings.Join(tools, ",")+"]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temp, s.file); err != nil {
		t.Fatal(err)
	}
}

func (s *shelf) config() config.Server {
	return config.Server{ID: s.id, Transport: config.Stdio{Command: s.Path, Args: s.Args}}
}

// kill kills the nth process of the server.
func (s *shelf) kill(t testing.TB, n int) {
	t.Helper()
	var pid int
	if _, err := fmt.Sscanf(s.WaitN("start ", n), "start %d", &pid); err != nil {
		t.Fatal(err)
	}
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// row returns a tool of a shelf.
func row(name, description string) string {
	return fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object","properties":{"message":{"type":"string"}}}}`, name, description)
}

// rowWith returns a tool with another schema.
func rowWith(name, description, property string) string {
	return strings.Replace(row(name, description), `"message"`, fmt.Sprintf("%q", property), 1)
}

func configs(shelves ...*shelf) []config.Server {
	out := make([]config.Server, len(shelves))
	for i, s := range shelves {
		out[i] = s.config()
	}
	return out
}

// atOnce returns options for tests in which servers are killed: the servers come back at once, and their tools are
// withdrawn at once.
func atOnce() *interop.MountOptions {
	return &interop.MountOptions{FleetOptions: interop.FleetOptions{Restart: interop.Restart{First: time.Millisecond, Max: 20 * time.Millisecond}, Grace: -1}}
}

// attach returns an attachment that ends with the test.
func attach(t testing.TB, servers []config.Server, o *ledger.Options) *ledger.Attachment {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), giveUp)
	defer cancel()
	a := ledger.Attach(ctx, ledger.Ledger{}, servers, o)
	t.Cleanup(a.Close)
	return a
}

// waitUntil waits until ok returns true.
func waitUntil(t testing.TB, a *ledger.Attachment, condition string, ok func() bool) {
	t.Helper()
	changed := make(chan struct{}, 1)
	wake := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	defer a.Box.Watch(wake)()
	defer a.Fleet.Events(func(interop.Event) { wake() })()
	late := time.After(giveUp)
	again := time.NewTicker(20 * time.Millisecond) // an event may arrive before its effects are visible
	defer again.Stop()
	for !ok() {
		select {
		case <-changed:
		case <-again.C:
		case <-late:
			t.Fatalf("never %s: live %v, status %+v", condition, a.Names(), a.Status())
		}
	}
}

func isLive(a *ledger.Attachment, name string) func() bool {
	return func() bool { return slices.Contains(a.Names(), name) }
}

func isNot(ok func() bool) func() bool { return func() bool { return !ok() } }

// listed returns the names of the tools in the box.
func listed(a *ledger.Attachment) string {
	var names []string
	for _, d := range a.Box.Snapshot("").Tools {
		names = append(names, d.Name)
	}
	return strings.Join(names, " ")
}

// echo calls a tool.
func echo(t testing.TB, a *ledger.Attachment, name, message string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), giveUp)
	defer cancel()
	in, err := json.Marshal(map[string]string{"message": message})
	if err != nil {
		t.Fatal(err)
	}
	return a.Box.Run(ctx, toolbox.Call{Name: name, Input: in}).Text()
}

// recordedWords returns the entries of a log as words: operation, server, tool and reason.
func recordedWords(t testing.TB, a *ledger.Attachment, log ledger.Log) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), giveUp)
	defer cancel()
	if err := a.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range read(t, log) {
		if e.Run == a.Run {
			out = append(out, word(e))
		}
	}
	return out
}

func word(e ledger.Entry) string {
	s := string(e.Op)
	for _, more := range []string{e.Server, e.Tool} {
		if more != "" {
			s += " " + more
		}
	}
	if e.Changed {
		s += " changed"
	}
	if e.Note != "" {
		s += ": " + e.Note
	}
	return s
}
