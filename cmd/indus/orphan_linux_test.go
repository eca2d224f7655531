package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// orphans is a server that minds neither stdin's end nor a handshake, with a
// descendant in a process group of its own and one in a session of its own, which has
// the mark in a dump of the environment too.
const orphans = `set -m; sleep 300 & DUMP="$(env)" setsid sleep 300 & exec sleep 300`

// TestKillNineWhileServersStart kills indus as soon as a number of the servers' processes
// run: from the first to the last, so that every step of a start is met.
func TestKillNineWhileServersStart(t *testing.T) {
	runs, servers := 8, 12
	if os.Getenv("INDUS_SOAK") != "" {
		runs, servers = 100, 40
	}
	for i := range runs {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			mark := newMark()
			rows := map[string]row{}
			for n := range servers {
				rows[fmt.Sprintf("s%d", n)] = row{"sh", []string{"-c", orphans}, map[string]string{markName: mark}}
			}
			cmd := indusCommand(t, rows, "serve", "--stdio", "--no-ledger")
			p := launch(t, cmd)
			for late := time.Now().Add(deadline); len(marked(t, mark)) < 1+3*servers*i/runs; {
				if time.Now().After(late) {
					t.Fatalf("%d processes run", len(marked(t, mark)))
				}
			}
			p.signal(syscall.SIGKILL)
			p.ends(-1)
			waitGone(t, mark)
		})
	}
}

// TestNoServerOutlivesACommand that a signal ends while it waits for one.
func TestNoServerOutlivesACommand(t *testing.T) {
	for _, line := range []string{"mcp call hung__x", "mcp ls", "mcp tools", "mcp doctor", "mcp lint"} {
		for s, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 130, syscall.SIGKILL: -1} {
			t.Run(line+"/"+s.String(), func(t *testing.T) {
				t.Parallel()
				mark := newMark()
				env := map[string]string{markName: mark}
				p := launch(t, indusCommand(t, map[string]row{"hung": {"sh", []string{"-c", orphans}, env}}, strings.Fields(line)...))
				for late := time.Now().Add(deadline); len(marked(t, mark)) < 3; {
					if time.Now().After(late) {
						t.Fatal("no server")
					}
				}
				p.signal(s)
				p.ends(code)
				waitGone(t, mark)
			})
		}
	}
}
