package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"go.uber.org/goleak"
)

// TestNoGoroutineOutlivesACommand covers commands that end by themselves and commands that are interrupted.
func TestNoGoroutineOutlivesACommand(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	f := fixture.New(t)
	dead := fixture.New(t, "-exit")
	url := f.HTTP()
	f.Wait("start ") // from here on its connection to the test does not count as a leak
	file := filepath.Join(t.TempDir(), "servers.json")
	config := fmt.Sprintf(
		`{"servers":{"one":{"command":%q,"args":[%q,%q]},"web":{"url":%q},"dead":{"command":%q,"args":["-exit"]}}}`,
		f.Path, f.Args[0], f.Args[1], url, dead.Path)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	before := goleak.IgnoreCurrent()
	for _, c := range []struct {
		line, until string // text on stderr, or the event, after which the command is interrupted
		code        int
	}{
		{"mcp ls", "", 0},
		{"mcp tools --json", "", 0},
		{"mcp tools --schema web__echo", "", 0},
		{"mcp doctor", "", 4},
		{"mcp doctor one web --json", "", 0},
		{"mcp lint one web", "", 0},
		{"mcp lint", "", 4},
		{"mcp lint --file testdata/readme/tools.json", "", 0},
		{"mcp call web__echo message=hi", "", 0},
		{"mcp call one__rpcerror", "", 1},
		{"mcp call dead__echo", "", 4},
		{"mcp call one__hang key=x", "event call hang", 130},
		{"mcp call web__hang key=x", "event call hang", 130},
		{"serve --addr 127.0.0.1:0", `web: ready`, 0},
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		var out, errs transcript
		done, code := make(chan struct{}), 0
		args := strings.Fields(c.line)
		if !strings.Contains(c.line, "--file") {
			args = append(args, "--mcp", file)
		}
		hung := len(f.Events("call hang"))
		go func() {
			defer close(done)
			code = command.Run(ctx, args, show.New(strings.NewReader(""), &out, &errs), tree)
		}()
		if event, ok := strings.CutPrefix(c.until, "event "); ok {
			f.WaitN(event, hung+1)
			interrupt()
		} else if c.until != "" {
			errs.waitFor(t, c.until, done)
			interrupt()
		}
		<-done
		interrupt()
		if code != c.code {
			t.Errorf("%s: exit code %d, want %d\n%s%s", c.line, code, c.code, out.String(), errs.String())
		}
		eventually(t, func() string {
			if err := goleak.Find(before); err != nil {
				return fmt.Sprintf("%s: %v", c.line, err)
			}
			return ""
		})
	}
}

// eventually waits until another process has reached a state. The function what returns the remaining problem, or "".
func eventually(t testing.TB, what func() string) {
	t.Helper()
	late := time.After(deadline)
	for wrong := what(); wrong != ""; wrong = what() {
		select {
		case <-late:
			t.Fatal(wrong)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
