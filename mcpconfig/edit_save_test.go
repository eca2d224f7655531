package mcpconfig_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/indusagi/indus/mcpconfig"
)

func opened(t *testing.T, path string) *mcpconfig.Edit {
	t.Helper()
	e, err := mcpconfig.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// saved sets a server with that id in a file, and saves it.
func saved(t *testing.T, path, id string) {
	t.Helper()
	e := opened(t, path)
	if err := e.Set(mcpconfig.Definition{ID: id, JSON: []byte(`{"command": "x"}`)}); err != nil {
		t.Fatal(err)
	}
	if err := e.Save(); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

func TestSaveMakesTheFileAndItsDirectories(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "b", "mcp.json")
	e := opened(t, path)
	if _, err := os.Stat(filepath.Join(dir, "a")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("Open makes directories")
	}
	if err := e.Set(mcpconfig.Definition{ID: "x", JSON: []byte(`{}`)}); err != nil {
		t.Fatal(err)
	}
	if err := e.Save(); err != nil {
		t.Fatal(err)
	}
	if err := e.Remove("x"); err != nil {
		t.Fatal(err)
	}
	if err := e.Save(); err != nil { // an Edit can be used again after a save
		t.Fatal(err)
	}
	if got := names(t, filepath.Dir(path)); got != "mcp.json" {
		t.Errorf("there are %s", got)
	}
}

func TestSaveKeepsModeAndSymbolicLink(t *testing.T) {
	dir := tempDir(t)
	real, link := filepath.Join(dir, "dotfiles", "servers.json"), filepath.Join(dir, "mcp.json")
	write(t, real, `{"servers": {}}`)
	if err := os.Chmod(real, 0o640); err != nil {
		t.Fatal(err)
	}
	for _, to := range []struct{ from, to string }{{filepath.Join(dir, "middle"), "dotfiles/servers.json"}, {link, "middle"}} {
		if err := os.Symlink(to.to, to.from); err != nil {
			t.Fatal(err)
		}
	}
	saved(t, link, "a")
	if to, err := os.Readlink(link); err != nil || to != "middle" {
		t.Errorf("the link is %q, %v", to, err)
	}
	info, err := os.Lstat(real)
	if err != nil || info.Mode() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if ids := opened(t, real).IDs(); !slices.Equal(ids, []string{"a"}) {
		t.Errorf("ids %v", ids)
	}
	if got := names(t, filepath.Dir(real)) + "; " + names(t, dir); got != "servers.json; dotfiles mcp.json middle" {
		t.Errorf("there are %s", got)
	}
	if err := os.Remove(real); err != nil { // the link leads to nothing
		t.Fatal(err)
	}
	saved(t, link, "b")
	if ids := opened(t, real).IDs(); !slices.Equal(ids, []string{"b"}) {
		t.Errorf("ids %v", ids)
	}
	info, err = os.Lstat(real)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("a new file has %v, %v", info.Mode(), err)
	}
}

func TestSaveRefusesAFileThatChangedUnderneath(t *testing.T) {
	const first, second = `{"servers": {"a": {"command": "a"}}}`, `{"servers": {"b": {"command": "b"}}}`
	for name, change := range map[string]func(path string) error{
		"other bytes": func(path string) error { return os.WriteFile(path, []byte(second), 0o600) },
		"gone":        os.Remove,
		"a directory": func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o755)) },
		"elsewhere":   func(path string) error { return errors.Join(os.Remove(path), os.Symlink("other", path)) },
	} {
		path := filepath.Join(t.TempDir(), "mcp.json")
		write(t, path, first)
		e := opened(t, path)
		if err := e.Enable("a", false); err != nil {
			t.Fatal(err)
		}
		if err := change(path); err != nil {
			t.Fatal(err)
		}
		before := names(t, filepath.Dir(path))
		err := e.Save()
		if !errors.Is(err, mcpconfig.ErrChanged) || err.Error() != path+": the file has changed since it was read; try again" {
			t.Errorf("%s: %v", name, err)
		}
		if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, []byte("false")) {
			t.Errorf("%s: it was written all the same", name)
		}
		if after := names(t, filepath.Dir(path)); before != after {
			t.Errorf("%s: %s became %s", name, before, after)
		}
	}
	path := filepath.Join(t.TempDir(), "mcp.json")
	e := opened(t, path)
	if err := e.Set(mcpconfig.Definition{ID: "a", JSON: []byte(`{}`)}); err != nil {
		t.Fatal(err)
	}
	write(t, path, first)
	if err := e.Save(); !errors.Is(err, mcpconfig.ErrChanged) {
		t.Errorf("one that came into being: %v", err)
	}
}

// In a cloned repository, any file may be at the path at which the new text is written
// first.
func TestSaveWritesThroughNothing(t *testing.T) {
	dir := t.TempDir()
	victim, path := filepath.Join(dir, "victim"), filepath.Join(dir, "p", "mcp.json")
	write(t, victim, "precious")
	write(t, path, `{"servers": {}}`)
	if err := os.Symlink(victim, filepath.Join(dir, "p", ".mcp.json.new")); err != nil {
		t.Fatal(err)
	}
	saved(t, path, "a")
	if text, err := os.ReadFile(victim); err != nil || string(text) != "precious" {
		t.Errorf("%q, %v", text, err)
	}
	if got := names(t, filepath.Dir(path)); got != "mcp.json" {
		t.Errorf("there are %s", got)
	}
	write(t, filepath.Join(dir, "p", ".mcp.json.new", "x"), "")
	e := opened(t, path)
	if err := e.Remove("a"); err != nil {
		t.Fatal(err)
	}
	if err := e.Save(); err == nil || !strings.HasPrefix(err.Error(), path+": ") {
		t.Errorf("with a directory in the way: %v", err)
	}
	if ids := opened(t, path).IDs(); len(ids) != 1 {
		t.Errorf("ids %v", ids)
	}
}

// A read-only file is not replaced, although the mode of its directory would allow it.
func TestSaveLeavesAReadOnlyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	write(t, path, `{"servers": {"a": {"command": "a"}}}`)
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	e := opened(t, path)
	if err := e.Remove("a"); err != nil {
		t.Fatal(err)
	}
	if err := e.Save(); !errors.Is(err, fs.ErrPermission) || err.Error() != path+": permission denied" {
		t.Errorf("%v", err)
	}
	if ids := opened(t, path).IDs(); len(ids) != 1 {
		t.Errorf("ids %v", ids)
	}
}

func TestSaveWithoutAChangeWritesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	write(t, path, `{"servers": {"a": {"command": "a"}}}`)
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	e := opened(t, path)
	if err := errors.Join(e.Enable("a", true), e.Save()); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(path)
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("it was replaced, %v", err)
	}
}

func TestOpenRefusesWhatItCannotEdit(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "loop"), "")
	_ = os.Remove(filepath.Join(dir, "loop"))
	if err := os.Symlink("loop", filepath.Join(dir, "loop")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "f"), "")
	write(t, filepath.Join(dir, "large"), "{}"+strings.Repeat(" ", 1<<20))
	for name, want := range map[string]string{
		"":            "not a file but a directory",
		"loop":        "too many symbolic links",
		"f/mcp.json":  "a part of the path is not a directory",
		"large":       "larger than 1 MiB",
		"config.toml": "only JSON can be edited; see indus mcp import",
	} {
		if _, err := mcpconfig.Open(filepath.Join(dir, name)); err == nil || err.Error() != filepath.Join(dir, name)+": "+want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := mcpconfig.Open(""); err == nil {
		t.Error("an empty path")
	}
}

func TestPathOf(t *testing.T) {
	o := &mcpconfig.Options{Dir: "d", Home: "h", XDG: "x", Env: lookup(nil)}
	for scope, want := range map[mcpconfig.Scope]string{
		mcpconfig.Project:   "d/.indusvx/mcp.json",
		mcpconfig.User:      "x/indusvx/mcp.json",
		mcpconfig.Legacy:    "h/.indusvx/agent/mcp.json",
		mcpconfig.LegacyAlt: "h/.indusvx/agent/mcp-servers.json",
	} {
		if got, err := mcpconfig.PathOf(scope, o); err != nil || filepath.ToSlash(got) != want {
			t.Errorf("%s: %s, %v", scope, got, err)
		}
	}
	for _, scope := range []mcpconfig.Scope{mcpconfig.User, mcpconfig.Legacy, mcpconfig.LegacyAlt, mcpconfig.Explicit} {
		if got, err := mcpconfig.PathOf(scope, &mcpconfig.Options{Env: lookup(nil)}); err == nil {
			t.Errorf("%s: %s", scope, got)
		}
	}
}

func TestRewrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d", "settings.json")
	if err := mcpconfig.Rewrite(path, func(old []byte) ([]byte, error) {
		if old != nil {
			t.Errorf("there is %q", old)
		}
		return []byte("one"), nil
	}); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if err := mcpconfig.Rewrite(path, func([]byte) ([]byte, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	if err := mcpconfig.Rewrite(path, func(old []byte) ([]byte, error) {
		write(t, path, "meanwhile")
		return append(old, " two"...), nil
	}); !errors.Is(err, mcpconfig.ErrChanged) {
		t.Error(err)
	}
	if err := mcpconfig.Rewrite(path, func(old []byte) ([]byte, error) { return fmt.Appendf(nil, "%s two", old), nil }); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "meanwhile two" {
		t.Errorf("%q, %v", text, err)
	}
}

// Files that are made to take a long time are refused, or take no longer than others.
func TestEditHuge(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "mcp.json")
	write(t, path, `{"servers": [`+strings.Repeat(`{"id": "a"},`, 40_000)+`]}`)
	e := opened(t, path)
	want := path + `:1:14: "a" comes 40000 times; remove all but one by hand`
	for _, err := range []error{e.Remove("a"), e.Enable("a", false)} {
		if err == nil || err.Error() != want {
			t.Errorf("%v", err)
		}
	}
	write(t, path, `{"servers": {"a": {`+strings.Repeat(`"k": 1,`, 40_000)+`}}}`)
	e = opened(t, path)
	row := `{"command":"x"}`
	if err := e.Set(mcpconfig.Definition{ID: "a", JSON: []byte(row)}); err != nil {
		t.Fatal(err)
	}
	if d, ok := e.Definition("a"); !ok || string(d.JSON) != row {
		t.Errorf("%d bytes", len(d.JSON))
	}
}

// A lock excludes all others, in this process too. If no lock can be made, every
// caller gets one.
func TestLock(t *testing.T) {
	t.Parallel()
	o := &mcpconfig.Options{State: filepath.Join(t.TempDir(), "state"), Env: lookup(nil)}
	path := filepath.Join(t.TempDir(), "mcp.json")
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			unlock, err := mcpconfig.Lock(t.Context(), o)
			if err != nil {
				t.Error(err)
				return
			}
			defer unlock()
			saved(t, path, fmt.Sprint("s", i))
		})
	}
	all.Wait()
	if ids := opened(t, path).IDs(); len(ids) != 10 {
		t.Errorf("ids %v", ids)
	}
	unlock, err := mcpconfig.Lock(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := mcpconfig.Lock(over, o); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	for _, o := range []*mcpconfig.Options{{Env: lookup(nil)}, {State: file, Env: lookup(nil)}} {
		for range 2 {
			if _, err := mcpconfig.Lock(t.Context(), o); err != nil {
				t.Error(err)
			}
		}
	}
}
