package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/modelserver"
)

// TestASessionThatIsEnded checks that no process of bash, process or a server is left, and that the session can be
// resumed.
func TestASessionThatIsEnded(t *testing.T) {
	const background = `{"action":"start","command":"nohup sleep 300 & exec sleep 300"}`
	for signal, code := range map[syscall.Signal]int{syscall.SIGKILL: -1, syscall.SIGINT: 130, syscall.SIGTERM: 130} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			mark, f := newMark(), fixture.New(t)
			model := modelserver.New(t,
				modelserver.Turn{Calls: []modelserver.Call{
					{Name: "process", Input: background}, {Name: "s__echo", Input: `{"message":"kept"}`},
				}},
				modelserver.Turn{Calls: []modelserver.Call{
					{Name: "bash", Input: `{"command":"sleep 300 & sleep 301"}`}, {Name: "todo", Input: `{}`},
				}},
				modelserver.Turn{Text: "It went on."},
			)
			rows := map[string]row{"s": {f.Path, f.Args, map[string]string{markName: mark}}}
			flags := []string{"--yes", "--wait", "1m", "--model", "m", "--base-url", model.URL}
			cmd := indusCommand(t, rows, append(flags, "-p", "work")...)
			cmd.Env = append(cmd.Env, markName+"="+mark)
			p := launch(t, cmd)
			p.stdin.Close()
			model.Wait(2)
			waitMarked(t, mark, func(running []string) bool { return strings.Count(strings.Join(running, "\n"), "sleep 30") >= 4 })
			p.signal(signal)
			p.ends(code)
			waitGone(t, mark)

			again := indusCommand(t, rows, append(flags, "-p", "go on", "--resume", "--no-ledger")...)
			again.Dir = cmd.Dir
			again.Env = cmd.Env
			p = launch(t, again)
			p.stdin.Close()
			p.ends(0)
			if !strings.Contains(p.out.String(), "It went on.") {
				t.Errorf("it said %q", p.out.String())
			}
			r := model.Wait(3)
			if r.Prompt() != "go on" || len(r.Results()) != 4 || !strings.Contains(r.Results()[1].Text, "kept") {
				t.Errorf("prompt %q, results %v", r.Prompt(), r.Results())
			}
			files, _ := filepath.Glob(filepath.Join(cmd.Dir, "indus", "sessions", "*"))
			for _, file := range files {
				if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s: %v, %v", file, info.Mode(), err)
				}
			}
			if len(files) != 1 {
				t.Errorf("transcripts: %v", files)
			}
		})
	}
}
