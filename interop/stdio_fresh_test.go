package interop_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
)

// Each process of such a server starts in an empty directory. The directory is removed
// with the process, unless it contains files. Directories of a killed indus are removed
// later.
func TestFreshStartsInANewEmptyDirectory(t *testing.T) {
	f, dir := fixture.New(t), filepath.Join(t.TempDir(), "a", "b")
	gone := exec.Command(f.Path, "-exit")
	_ = gone.Run()
	old := filepath.Join(dir, strconv.Itoa(gone.Process.Pid)+"-1")
	full, young, ours := old+"full", old+"young", filepath.Join(dir, strconv.Itoa(os.Getpid())+"-1")
	for _, d := range []string{old, filepath.Join(full, "x"), young, ours} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{old, full, ours} {
		if err := os.Chtimes(d, time.Time{}, time.Now().Add(-25*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	var seen []string
	for range 2 {
		e := interop.NewEndpoint(config.Server{ID: "s", Transport: config.Stdio{Command: f.Path, Args: f.Args, Dir: dir, Fresh: true}}, nil)
		defer e.Close()
		if err := e.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		r, err := e.Invoke(t.Context(), "process", json.RawMessage(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		var process struct{ Dir string }
		if err := json.Unmarshal([]byte(*r.Blocks()[0].Text), &process); err != nil {
			t.Fatal(err)
		}
		seen = append(seen, process.Dir)
		entries, err := os.ReadDir(process.Dir)
		if info, _ := os.Stat(process.Dir); err != nil || len(entries) > 0 || info.Mode().Perm() != 0o700 || filepath.Dir(process.Dir) != resolvePath(t, dir) {
			t.Errorf("it starts in %s with %v, %v", process.Dir, entries, err)
		}
		if len(seen) == 1 {
			if err := os.WriteFile(filepath.Join(process.Dir, "left"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		e.Close()
	}
	for path, want := range map[string]bool{seen[0]: true, seen[1]: false, old: false, full: true, young: true, ours: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s is there: %v", path, err == nil)
		}
	}
}

func resolvePath(t *testing.T, dir string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestFreshNeedsAPlace(t *testing.T) {
	for _, dir := range []string{"", "relative"} {
		e := interop.NewEndpoint(config.Server{ID: "s", Transport: config.Stdio{Command: "true", Dir: dir, Fresh: true}}, nil)
		err := e.Open(t.Context())
		if want := `s: connect: start true: no directory for its own to be in: ` + strconv.Quote(dir); err == nil || err.Error() != want {
			t.Errorf("%v", err)
		}
	}
}
