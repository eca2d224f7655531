package toolbox_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/toolbox"
)

// runAsTool runs a function as a tool of tc.
func runAsTool(t *testing.T, tc *toolbox.Context, c toolbox.Call, run func(*toolbox.Context)) {
	t.Helper()
	r := toolbox.NewRegistry(tc)
	r.Add(toolbox.Tool{Name: "t",
		Run: func(_ context.Context, tc *toolbox.Context, _ json.RawMessage) (*toolbox.Result, error) {
			run(tc)
			return nil, nil
		}})
	c.Name = "t"
	if r, err := r.Do(t.Context(), c); err != nil || r.IsError() {
		t.Fatal(r, err)
	}
}

func TestContextZeroRefusesEverything(t *testing.T) {
	for _, tc := range []*toolbox.Context{nil, {}} {
		runAsTool(t, tc, toolbox.Call{}, func(tc *toolbox.Context) {
			_, openErr := tc.FS.Open("a")
			_, statErr := tc.FS.Stat("a")
			for _, err := range []error{openErr, statErr, tc.FS.WriteFile("a", nil, 0o644), tc.FS.MkdirAll("a", 0o755),
				tc.FS.Remove("a")} {
				if !errors.Is(err, toolbox.ErrAbsent) {
					t.Errorf("%v", err)
				}
			}
			if exit, err := tc.Shell.Run(t.Context(), toolbox.Command{Line: "true"}); exit != -1 ||
				!errors.Is(err, toolbox.ErrAbsent) {
				t.Errorf("%d, %v", exit, err)
			}
		})
	}
}

func TestContextPathStaysInTheDirectory(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip(err)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	tc := &toolbox.Context{Dir: link}
	tests := []struct{ path, want string }{
		{"", "."},
		{".", "."},
		{"a", "a"},
		{"./a//b/", "a/b"},
		{"a/../b", "b"},
		{"a b\n", "a b\n"},
		{"..a", "..a"},
		{"../" + filepath.Base(link) + "/a", "a"},
		{link, "."},
		{link + "/a", "a"},
		{real + "/a/../b", "b"},
		{"..", ""},
		{"../a", ""},
		{"a/../../b", ""},
		{link + "/../a", ""},
		{link + "x", ""},
		{"/", ""},
		{"/etc/passwd", ""},
	}
	for _, tt := range tests {
		got, err := tc.Path(tt.path)
		if got != tt.want || (tt.want == "") != errors.Is(err, toolbox.ErrOutside) {
			t.Errorf("%q is %q, %v; want %q", tt.path, got, err, tt.want)
		}
	}
	for _, path := range []string{"a\x00b", strings.Repeat("a/", 2049)} {
		if got, err := tc.Path(path); err == nil {
			t.Errorf("%q was taken", got)
		}
	}
	if _, err := (&toolbox.Context{}).Path(dir); !errors.Is(err, toolbox.ErrOutside) {
		t.Errorf("an absolute path without a directory: %v", err)
	}
	if got, err := (&toolbox.Context{}).Path("a/b"); got != "a/b" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestContextRemembersWhatWasReadAcrossCallsAndNames(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "sub/a", "one")
	if err := os.Symlink("sub", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	tc, err := toolbox.NewContext(dir)
	if err != nil {
		t.Fatal(err)
	}
	runAsTool(t, tc, toolbox.Call{}, func(tc *toolbox.Context) {
		if ever, _ := tc.WasRead("sub/a", nil); ever {
			t.Error("a is read before it was read")
		}
		tc.MarkRead("sub/a", sha256.Sum256([]byte("one")))
	})
	runAsTool(t, tc, toolbox.Call{}, func(tc *toolbox.Context) {
		if ever, same := tc.WasRead("link/../link/a", []byte("one")); !ever || !same {
			t.Errorf("%v, %v", ever, same)
		}
		if ever, same := tc.WasRead("link/../link/a", []byte("two")); !ever || same {
			t.Errorf("of other content: %v, %v", ever, same)
		}
	})
}

func TestContextResolvesLinks(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "x/y/f", "")
	write(t, dir, "x/g", "")
	for at, to := range map[string]string{
		"d": "x/y", "x/y/up": "../g", "chain": "d/up", "loop": "loop", "new": "x/new", "out": "..", "far": "/etc", "x/y/out": "../../..",
	} {
		if err := os.Symlink(to, filepath.Join(dir, at)); err != nil {
			t.Skip(err)
		}
	}
	tc, err := toolbox.NewContext(dir)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, want string }{
		{".", "."}, {"x/g", "x/g"}, {"x//./g", "x/g"}, {"d", "x/y"}, {"d/f", "x/y/f"}, {"d/up", "x/g"}, {"chain", "x/g"},
		{"new", "x/new"}, {"d/none/at/all", "x/y/none/at/all"}, {"d/../g", "x/g"},
		{"out", ""}, {"far", ""}, {"d/out", ""}, {"loop", ""}, {"x/g/below", ""}, {"..", ""}, {"/etc", ""}, {"a\x00b", ""},
	}
	for _, tt := range tests {
		if got, err := tc.Resolve(tt.name); got != tt.want || (tt.want == "") != (err != nil) {
			t.Errorf("%q is %q, %v; want %q", tt.name, got, err, tt.want)
		}
	}
	if got, err := (&toolbox.Context{}).Resolve("a//b"); got != "a/b" || err != nil {
		t.Errorf("without files: %q, %v", got, err)
	}
}

func TestContextKnowsItsCall(t *testing.T) {
	tc := &toolbox.Context{ID: "session", Dir: "/d", Budget: 7}
	runAsTool(t, tc, toolbox.Call{ID: "1", Caller: "ann"}, func(tc *toolbox.Context) {
		got := []any{tc.ID, tc.Dir, tc.Budget, tc.Call().ID, tc.Call().Caller}
		if diff := cmp.Diff([]any{"session", "/d", 7, "1", toolbox.Principal("ann")}, got); diff != "" {
			t.Error(diff)
		}
		tc.Report(toolbox.Progress{Done: 1}) // there is no listener
	})
}

func TestContextReportsInTurnAndNeverAfterTheCall(t *testing.T) {
	var received []float64 // without a lock: the race detector reports two concurrent reports
	listen := func(p toolbox.Progress) { received = append(received, p.Done) }
	var left *toolbox.Context
	runAsTool(t, nil, toolbox.Call{Progress: listen}, func(tc *toolbox.Context) {
		left = tc
		var wait sync.WaitGroup
		for range 10 {
			wait.Go(func() { tc.Report(toolbox.Progress{Done: 1}) })
		}
		wait.Wait()
	})
	left.Report(toolbox.Progress{Done: 2})
	left.Call().Progress(toolbox.Progress{Done: 3})
	if diff := cmp.Diff([]float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, received); diff != "" {
		t.Error(diff)
	}
}

func TestContextLimit(t *testing.T) {
	for budget, want := range map[int]int{0: 64 << 10, 5: 5, -1: math.MaxInt} {
		if got := (&toolbox.Context{Budget: budget}).Limit(); got != want {
			t.Errorf("%d: %d, want %d", budget, got, want)
		}
	}
}

func TestNewContextWantsADirectory(t *testing.T) {
	if _, err := toolbox.NewContext(filepath.Join(t.TempDir(), "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
