package statefile_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/statefile"
)

// counter returns a number in a file.
func counter(path string) (f *statefile.File[int], decoded *int) {
	decoded = new(int)
	return &statefile.File[int]{
		Path: path,
		Load: func(path string) ([]byte, error) { return atomicfile.ReadPrivate(path, 100) },
		Decode: func(_ context.Context, text []byte) (int, error) {
			*decoded++
			if text == nil {
				return 0, nil
			}
			return strconv.Atoi(strings.TrimSpace(string(text)))
		},
		Encode: func(_ context.Context, n int) ([]byte, error) { return fmt.Append(nil, n), nil },
	}, decoded
}

func increment(n int) (int, error) { return n + 1, nil }

func value(t *testing.T, f *statefile.File[int]) int {
	t.Helper()
	n, err := f.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// No update is lost, and every File reads the newest value.
func TestUpdatesOfSeveral(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n")
	var all sync.WaitGroup
	for range 8 {
		f, _ := counter(path)
		all.Go(func() {
			for range 10 {
				if err := f.Update(t.Context(), increment); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	one, _ := counter(path)
	other, _ := counter(path)
	if n := value(t, one); n != 80 {
		t.Errorf("the value is %d", n)
	}
	if err := other.Update(t.Context(), increment); err != nil {
		t.Fatal(err)
	}
	if n := value(t, one); n != 81 {
		t.Errorf("the value is %d", n)
	}
}

// A file that did not change is not read again.
func TestReadsAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n")
	f, decoded := counter(path)
	for range 3 {
		value(t, f)
	}
	if *decoded != 1 {
		t.Errorf("nothing was decoded %d times", *decoded)
	}
}

// If an edit fails or changes nothing, the file stays as it is. A file that cannot be decoded is never overwritten.
func TestWhatIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n")
	f, _ := counter(path)
	refused := errors.New("refused")
	for _, err := range []error{refused, statefile.ErrUnchanged} {
		got := f.Update(t.Context(), func(int) (int, error) { return 7, err })
		if _, none := os.Stat(path); none == nil || errors.Is(got, refused) != (err == refused) {
			t.Errorf("%v became %v", err, got)
		}
	}
	for _, text := range []string{"", "no number"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := f.Update(t.Context(), increment); err == nil {
			t.Errorf("%q was written over", text)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != text {
			t.Errorf("%q became %q, %v", text, b, err)
		}
	}
}

// A link stays a link, even if its target does not exist yet.
func TestALinkStays(t *testing.T) {
	dir := t.TempDir()
	path, target := filepath.Join(dir, "link"), filepath.Join(dir, "target")
	if err := os.Symlink(target, path); err != nil {
		t.Skip(err)
	}
	f, _ := counter(path)
	for range 2 {
		if err := f.Update(t.Context(), increment); err != nil {
			t.Fatal(err)
		}
	}
	if to, err := os.Readlink(path); err != nil || to != target || value(t, f) != 2 {
		t.Errorf("it leads to %q, %v, and has %d", to, err, value(t, f))
	}
}

// Updates that wait for another process are written together. One that fails, or whose context ends, changes nothing.
func TestWaitingUpdatesAreOneWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n")
	unlock, err := statefile.LockFile(t.Context(), path, "")
	if err != nil {
		t.Fatal(err)
	}
	f, _ := counter(path)
	reads, load := 0, f.Load
	f.Load = func(path string) ([]byte, error) { reads++; return load(path) }
	ended, end := context.WithCancel(t.Context())
	refused := errors.New("refused")
	var all sync.WaitGroup
	for range 20 {
		for want, update := range map[error]func() error{
			nil:     func() error { return f.Update(t.Context(), increment) },
			refused: func() error { return f.Update(t.Context(), func(int) (int, error) { return 1000, refused }) },
			context.Canceled: func() error {
				return f.Update(ended, func(int) (int, error) { t.Error("its context has ended"); return 0, nil })
			},
		} {
			all.Go(func() {
				if err := update(); !errors.Is(err, want) {
					t.Errorf("%v, want %v", err, want)
				}
			})
		}
	}
	waiting := func(n int) {
		for f.Waiting() != n {
			time.Sleep(time.Millisecond)
		}
	}
	waiting(60)
	end()
	waiting(40)
	unlock()
	all.Wait()
	if reads != 1 || value(t, f) != 20 {
		t.Errorf("%d reads of the file before a write, and the value is %d", reads, value(t, f))
	}
}

// An update that fails because of another one in the same write gets the error of the write, if that fails: the other
// one has not happened.
func TestAFailedWriteFailsWhatDependsOnIt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	lock := filepath.Join(t.TempDir(), "lock")
	f, _ := counter(filepath.Join(dir, "n"))
	f.Lock = lock
	unlock, err := statefile.LockFile(t.Context(), f.Path, lock)
	if err != nil {
		t.Fatal(err)
	}
	taken := errors.New("it was taken before")
	take := func(n int) (int, error) {
		if n > 0 {
			return n, taken
		}
		return 1, os.RemoveAll(dir) // then the file cannot be written
	}
	results := make(chan error)
	for i := range 3 {
		go func() { results <- f.Update(t.Context(), take) }()
		for f.Waiting() != i+1 {
			time.Sleep(time.Millisecond)
		}
	}
	unlock()
	for range 3 {
		if err := <-results; !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v, and nothing was written", err)
		}
	}
}
