//go:build unix

package standard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/indusagi/indus/agent/standard"
	"github.com/indusagi/indus/toolbox"
)

func bashInput(t testing.TB, command string, more map[string]any) string {
	t.Helper()
	in := map[string]any{"command": command}
	for k, v := range more {
		in[k] = v
	}
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestBash(t *testing.T) {
	t.Parallel()
	dir, _ := escapeDir(t)
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := fullRegistry(t, dir)
	tests := []struct{ name, command, dir, want string }{
		{"both streams in order", "echo a; echo b >&2; echo c", "", "a\nb\nc"},
		{"a status", "echo no; exit 3", "", "error: no\n(exit status 3)"},
		{"a signal", "kill -9 $$", "", "error: (no output)\n(exit status 137)"},
		{"nothing", "true", "", "(no output)"},
		{"nothing to read", "cat; read x || echo end", "", "end"},
		{"no terminal", "test -t 0 || (: </dev/tty) 2>/dev/null || echo none", "", "none"},
		{"the directory", "pwd", "", real},
		{"below it", "pwd", "sub", real + "/sub"},
		{"by a link inside", "pwd -P", "self/sub", real + "/sub"},
		{"absolute", "pwd -P", dir + "/sub", real + "/sub"},
		{"closes its output", "exec >&- 2>&-; exit 4", "", "error: (no output)\n(exit status 4)"},
		{"controls", `printf '\033[31mred\033[0m\033]0;t\007 \000 1%%\r2%% \342\200\256x\n'`, "", "red \uFFFD 1%\n2% \uFFFDx"},
		{"no UTF-8", `printf 'a\377\376b\n\n'`, "", "a\uFFFDb"},
		{"syntax", "(", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := call(t, r, "bash", bashInput(t, tt.command, map[string]any{"dir": tt.dir}))
			if tt.want == "" {
				if !strings.HasPrefix(got, "error: ") || !strings.Contains(got, "syntax error") {
					t.Error(got)
				}
			} else if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestCommandsStartInsideTheDirectory(t *testing.T) {
	t.Parallel()
	dir, outside := escapeDir(t)
	r := fullRegistry(t, dir)
	for _, path := range []string{"..", "sub/../..", outside, "/", "out", "up", "sub/up", "root/etc", "self/../up", "loop",
		"missing", "a", "a\x00b", "/proc/self/cwd"} {
		in := map[string]any{"dir": path}
		if got := call(t, r, "bash", bashInput(t, "echo ran", in)); !strings.HasPrefix(got, "error: bash: ") ||
			strings.Contains(got, "ran") {
			t.Errorf("bash in %q: %s", path, got)
		}
		in["action"] = "start"
		if got := call(t, r, "process", bashInput(t, "echo ran", in)); !strings.HasPrefix(got, "error: process: ") ||
			strings.Contains(got, "ran") {
			t.Errorf("process in %q: %s", path, got)
		}
	}
	if got := call(t, r, "process", `{"action":"list"}`); got != "(no process was started)" {
		t.Error(got)
	}
}

func TestBashWithoutAShell(t *testing.T) {
	r := toolbox.NewRegistry(nil)
	r.Add(newDeck(t).Tools()...)
	if got := call(t, r, "bash", `{"command":"ls"}`); got != "error: (no output)\n(bash: there is no shell here)" {
		t.Error(got)
	}
	if got := call(t, r, "process", `{"action":"start","command":"ls"}`); got !=
		"error: (no output)\n(p1: there is no shell here)" {
		t.Error(got)
	}
}

// The output of a command is kept in bounded memory and shown within the budget, however it is written.
func TestBashAbridges(t *testing.T) {
	t.Parallel()
	for _, budget := range []int{100, 4000, 0} {
		for name, command := range map[string]string{
			"lines":          "echo first; yes word | head -c 3000000; echo; echo last",
			"one line":       "printf 'first'; head -c 3000000 /dev/zero | tr '\\0' x; printf 'last'",
			"what is longer": "echo first; head -c 300000 /dev/zero | tr '\\0' '\\377'; echo; echo last",
			"just too long":  "echo first; head -c 64600 /dev/zero | tr '\\0' '\\n'; echo last",
			"wide":           "echo first; yes '語' | head -c 3000000; echo; echo last",
		} {
			t.Run(fmt.Sprintf("%s in %d", name, budget), func(t *testing.T) {
				t.Parallel()
				tc, err := toolbox.NewContext(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				tc.Budget = budget
				r := toolbox.NewRegistry(tc)
				r.Add(standard.Bash())
				got := call(t, r, "bash", bashInput(t, command, nil))
				if len(got) > max(700, tc.Limit()) {
					t.Errorf("%d bytes", len(got))
				}
				if !strings.HasPrefix(got, "first") || !strings.HasSuffix(got, "last") || !strings.Contains(got, " bytes cut …\n") {
					t.Errorf("%.100s", got)
				}
			})
		}
	}
}

func TestBashSaysHowMuchIsMissing(t *testing.T) {
	t.Parallel()
	tc, err := toolbox.NewContext(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tc.Budget = 1
	r := toolbox.NewRegistry(tc)
	r.Add(standard.Bash())
	got := call(t, r, "bash", bashInput(t, "seq -w 1 9999", nil))
	head, rest, _ := strings.Cut(got, "\n… ")
	count, tail, _ := strings.Cut(rest, " bytes cut …\n")
	var missing int
	if _, err := fmt.Sscan(count, &missing); err != nil {
		t.Fatal(got)
	}
	if sum := len(head) + missing + len(tail) + 1; sum != 5*9999 { // the last line's end is not shown
		t.Errorf("%d bytes in all: %s", sum, got)
	}
}

// A command that ignores its time limit and SIGTERM, and prints all the time, ends with all processes that it started.
func TestBashStopsWhatTakesTooLong(t *testing.T) {
	t.Parallel()
	r := fullRegistry(t, t.TempDir())
	got := call(t, r, "bash", bashInput(t, `trap '' TERM HUP INT; (sleep 1000)& echo $! $$; yes`,
		map[string]any{"timeout": 1}))
	if !strings.HasPrefix(got, "error: ") ||
		!strings.HasSuffix(got, "\n(stopped after 1s; pass a longer timeout, or use process for what goes on running)") {
		t.Errorf("%.200s", got)
	}
	line, _, _ := strings.Cut(strings.TrimPrefix(got, "error: "), "\n")
	waitGone(t, strings.Fields(line)...)
}

func TestBashEndsWhatItLeaves(t *testing.T) {
	t.Parallel()
	r := fullRegistry(t, t.TempDir())
	waitGone(t, call(t, r, "bash", bashInput(t, `sleep 1000 & echo $!`, nil)))
	waitGone(t, call(t, r, "bash", bashInput(t, `sleep 1000 >/dev/null 2>&1 & echo $!`, nil)))
}

func TestBashEndsWithItsCall(t *testing.T) {
	t.Parallel()
	r := fullRegistry(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	var pid string
	_, err := r.Do(ctx, toolbox.Call{
		Name:  "bash",
		Input: json.RawMessage(bashInput(t, "echo $$; sleep 1000", nil)),
		Progress: func(p toolbox.Progress) {
			pid = p.Message
			cancel()
		},
	})
	if err != context.Canceled {
		t.Error(err)
	}
	waitGone(t, pid)
}

// Reports contain the end of the output, and continue while the command runs.
func TestBashReports(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := fullRegistry(t, dir)
	var messages []string
	command := `printf '\033[1mone\033[0m\n'; until [ -e go ]; do sleep 0.01; done; head -c 5000 /dev/zero | tr '\0' '\n'; echo two; until [ -e on ]; do sleep 0.01; done`
	_, err := r.Do(t.Context(), toolbox.Call{
		Name:  "bash",
		Input: json.RawMessage(bashInput(t, command, nil)),
		Progress: func(p toolbox.Progress) {
			messages = append(messages, p.Message)
			if p.Done == 12 {
				write(t, filepath.Join(dir, "go"))
			}
			if strings.HasSuffix(p.Message, "two") {
				write(t, filepath.Join(dir, "on"))
			}
			if len(p.Message) > 1024 {
				t.Errorf("%d bytes", len(p.Message))
			}
		},
	})
	if err != nil || len(messages) < 2 || messages[0] != "one" {
		t.Error(err, messages)
	}
}

func write(t testing.TB, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Error(err)
	}
}

// waitGone waits until processes are gone. A zombie counts as gone, because another process must reap it.
func waitGone(t testing.TB, pids ...string) {
	t.Helper()
	if len(pids) == 0 {
		t.Error("no process is named")
	}
	late := time.After(15 * time.Second)
	for _, pid := range pids {
		for isAlive(t, pid) {
			select {
			case <-late:
				t.Fatalf("process %s is left", pid)
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
}
