package box_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/indusagi/indus/internal/box"
	"github.com/indusagi/indus/internal/box/attack"
	"github.com/indusagi/indus/internal/testkit/fixture"
)

// confinedThreads returns the threads of this program that are confined.
func confinedThreads(t *testing.T) (confined []string) {
	t.Helper()
	tasks, err := filepath.Glob("/proc/self/task/*/status")
	must(t, err)
	for _, task := range tasks {
		status, _ := os.ReadFile(task)
		if strings.Contains(string(status), "NoNewPrivs:\t1") || strings.Contains(string(status), "Seccomp:\t2") {
			confined = append(confined, task)
		}
	}
	return confined
}

// TestWeAreNeverConfined starts children beside goroutines that read a file which no child may read.
func TestWeAreNeverConfined(t *testing.T) {
	starts, readerCount := fixture.Size(t, 16, 2000), fixture.Size(t, 16, 64)
	for _, procs := range []int{1, 2, 16} {
		t.Run("", func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			r := newRoom(t)
			b := r.boxed()
			var stop atomic.Bool
			var readers, starters sync.WaitGroup
			for range readerCount {
				readers.Go(func() {
					for !stop.Load() {
						if _, err := os.ReadFile(r.secret); err != nil {
							t.Errorf("we cannot read: %v", err)
							return
						}
						runtime.Gosched()
					}
				})
			}
			for range 4 {
				starters.Go(func() {
					for range (starts + 3) / 4 {
						out, state := output(t, b, "/bin/cat", r.secret)
						if state.ExitCode() != 1 || !strings.Contains(out, "Permission denied") {
							t.Errorf("a child reads the secret: %q, %v", out, state)
						}
					}
				})
			}
			starters.Wait()
			stop.Store(true)
			readers.Wait()
		})
	}
	for end := time.Now().Add(10 * time.Second); len(confinedThreads(t)) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) { // the kernel ends a thread after its goroutine
			t.Fatalf("confined threads remain: %v", confinedThreads(t))
		}
	}
}

// TestTheMainThreadIsNotTaken needs no luck: every other thread is busy, so a goroutine starts on the main thread too.
func TestTheMainThreadIsNotTaken(t *testing.T) {
	var taken atomic.Int32
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			box.OnOwnThread(func() {
				if unix.Gettid() == unix.Getpid() {
					taken.Add(1)
				}
			})
		})
	}
	all.Wait()
	if n := taken.Load(); n > 0 {
		t.Errorf("the main thread was taken %d times", n)
	}
}

func TestWhatAKernelCannotEnforceStopsTheStart(t *testing.T) {
	r := newRoom(t)
	broker := func([]string) (box.Broker, error) { return nil, errors.New("opened") }
	for _, row := range []struct {
		kernel  box.Kernel
		broker  bool
		refused string // "": the process starts
		missing string // of Support
	}{
		{box.Kernel{Release: "5.10.0-33-amd64", Filters: true, Notifies: true}, false,
			`not started: this kernel (5.10) has no Landlock. "required": false starts it unconfined`,
			"this kernel (5.10) has no Landlock"},
		{box.Kernel{Release: "6.1.9", Disabled: true, Filters: true, Notifies: true}, false,
			`not started: Landlock is switched off in this kernel (6.1): add "landlock" to its boot parameter lsm=. ` +
				`"required": false starts it unconfined`,
			`Landlock is switched off in this kernel (6.1): add "landlock" to its boot parameter lsm=`},
		{box.Kernel{Release: "6.1", ABI: 2}, false,
			`not started: this kernel (6.1) has no seccomp filters. "required": false starts it unconfined`,
			"this kernel (6.1) has no seccomp filters"},
		{box.Kernel{Release: "5.13", ABI: 1, Filters: true}, true,
			`not started: this kernel (5.13) cannot decide on single hosts. "required": false starts it unconfined`,
			"this kernel (5.13) cannot decide on single hosts"},
		{box.Kernel{Release: "5.13", ABI: 1, Filters: true}, false, "",
			"this kernel (5.13) cannot decide on single hosts"},
		{box.Kernel{Release: "6.8", ABI: 4, Filters: true, Notifies: true}, false, "",
			"this kernel (6.8) has Landlock ABI 4, and signals are kept inside from ABI 6 on"},
		{box.Kernel{Release: "6.18", ABI: 7, Filters: true, Notifies: true}, false, "", ""},
	} {
		if got := row.kernel.Support().Missing; got != row.missing {
			t.Errorf("%+v: missing %q, want %q", row.kernel, got, row.missing)
		}
		b := r.boxed().On(row.kernel)
		if row.broker {
			b.Broker = broker
		}
		child, err := b.Start("/bin/true", []string{"true"}, &os.ProcAttr{Dir: "/"})
		if err == nil {
			_, _ = child.Wait()
		}
		unenforced, ok := errors.AsType[*box.Unenforced](err)
		switch {
		case row.refused == "" && err != nil:
			t.Errorf("%+v: %v", row.kernel, err)
		case row.refused != "" && (!ok || unenforced.Error() != row.refused):
			t.Errorf("%+v: %v, want %s", row.kernel, err, row.refused)
		}
	}
}

// TestEachKernelConfines attacks with the rights of each Landlock ABI.
func TestEachKernelConfines(t *testing.T) {
	t.Setenv(insideVariable, "1")
	for abi := 1; abi <= box.OwnABI(); abi++ {
		b := (&box.Box{}).On(box.Kernel{Release: "6", ABI: abi, Filters: true, Notifies: true})
		if os.Geteuid() == 0 {
			b.User = nobody
		}
		results, err := attack.Run([]string{os.Args[0]}, b)
		must(t, err)
		for _, r := range results {
			if !r.Passed() {
				t.Errorf("ABI %d: %s (%s): %s %s", abi, r.Name, r.What, r.Outcome, r.Detail)
			}
		}
	}
}

// TestEachKernelKeepsTheHomeUsable moves a file between directories, which needs a right from ABI 2 on.
func TestEachKernelKeepsTheHomeUsable(t *testing.T) {
	r := newRoom(t)
	script := `mkdir -p "$HOME/d" && echo a >"$HOME/d/a" && truncate -s 1 "$HOME/d/a" && mv "$HOME/d/a" "$TMPDIR/a" &&
		cat "$TMPDIR/a" && rm -r "$HOME/d"`
	for abi := 1; abi <= box.OwnABI(); abi++ {
		b := r.boxed().On(box.Kernel{Release: "6", ABI: abi, Filters: true, Notifies: true})
		if out, _ := output(t, b, "/bin/sh", "-c", script); out != "a" {
			t.Errorf("ABI %d: %s", abi, out)
		}
	}
}

func TestAnOptionalBoxConfinesWhatItCan(t *testing.T) {
	r := newRoom(t)
	b := r.boxed().On(box.Kernel{Release: "5.10", Filters: true})
	b.Optional = true
	out, _ := output(t, b, "/bin/sh", "-c", `cat "$1"; grep -E "NoNewPrivs|Seccomp:" /proc/self/status`, "sh", r.secret)
	if out != "hiddenNoNewPrivs:\t1\nSeccomp:\t2" {
		t.Errorf("%q", out)
	}
}

func TestRootIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("we are not root")
	}
	b := newRoom(t).boxed()
	for user, want := range map[string]string{
		"":     `not started: a sandbox of root is none. Set "user", or run indus as a user`,
		"root": `not started: a sandbox of root is none. Set another "user"`,
		"0":    `not started: a sandbox of root is none. Set another "user"`,
		"none": `not started: there is no user "none"`,
	} {
		b.User = user
		child, err := b.Start("/bin/true", []string{"true"}, &os.ProcAttr{Dir: "/"})
		if err == nil {
			_, _ = child.Wait()
		}
		if err == nil || err.Error() != want {
			t.Errorf("user %q: %v, want %s", user, err, want)
		}
	}
}
