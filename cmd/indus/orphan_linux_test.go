package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/testkit/fixture"
)

// orphans is a server that ignores the end of stdin and sends no handshake. One descendant has its own process group.
// Another has its own session, and also has the mark in a dump of the environment.
const orphans = `set -m; sleep 300 & DUMP="$(env)" setsid sleep 300 & exec sleep 300`

// TestKillNineWhileServersStart kills indus as soon as a certain number of server processes run. The number goes from
// the first to the last, from a random one on, so that every step of a start is covered.
func TestKillNineWhileServersStart(t *testing.T) {
	runs := fixture.Size(t, 3, 100)
	servers := fixture.Size(t, 12, 40)
	shift := rand.IntN(3 * servers / runs)
	t.Logf("the first end comes after %d processes", shift)
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
			waitMarked(t, mark, func(running []string) bool { return len(running) > shift+3*servers*i/runs })
			p.signal(syscall.SIGKILL)
			p.ends(-1)
			waitGone(t, mark)
		})
	}
}

// TestNoServerOutlivesACommand covers commands that a signal ends while they wait for a server. Each command gets one of
// the signals, and each signal ends a command. With INDUS_SOAK each command gets them all.
func TestNoServerOutlivesACommand(t *testing.T) {
	signals := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL}
	shift := rand.IntN(len(signals))
	for i, line := range []string{"mcp call hung__x", "mcp ls", "mcp tools", "mcp doctor", "mcp lint"} {
		for n := range fixture.Size(t, 1, len(signals)) {
			s, code := signals[(i+n+shift)%len(signals)], 130
			if s == syscall.SIGKILL {
				code = -1
			}
			t.Run(line+"/"+s.String(), func(t *testing.T) {
				t.Parallel()
				mark := newMark()
				env := map[string]string{markName: mark}
				p := launch(t,
					indusCommand(t, map[string]row{"hung": {"sh", []string{"-c", orphans}, env}}, strings.Fields(line)...))
				waitMarked(t, mark, func(running []string) bool { return len(running) > 2 })
				p.signal(s)
				p.ends(code)
				waitGone(t, mark)
			})
		}
	}
}

// TestNoZombiesAsPIDOne checks that indus reaps daemons of servers: in a container it becomes their parent.
func TestNoZombiesAsPIDOne(t *testing.T) {
	inside := []string{"--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child", "--"}
	if out, err := exec.Command("unshare", append(inside, "true")...).CombinedOutput(); err != nil {
		t.Skipf("no namespaces for us here: %v: %s", err, out)
	}
	path, err := exec.LookPath("indus")
	if err != nil {
		t.Fatal(err)
	}
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		t.Fatal(err)
	}
	// The daemon exits when PID 1 is its parent.
	const server = `(setsid sh -c 'until grep -q "^PPid:.1$" /proc/$$/status; do sleep 0.01; done; echo $$ >daemon' &)
until [ -s daemon ]; do sleep 0.01; done; read pid <daemon; while [ -e /proc/$pid ]; do sleep 0.01; done; >reaped; exec sleep 300`
	dir := t.TempDir()
	script := filepath.Join(dir, "forks.sh")
	if err := os.WriteFile(script, []byte("cd "+dir+"; "+server), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := indusCommand(t, map[string]row{"forks": {"sh", []string{script}, nil}}, "serve", "--stdio", "--no-ledger")
	cmd.Path, cmd.Args = unshare, slices.Concat([]string{"unshare"}, inside, []string{path}, cmd.Args[1:])
	launch(t, cmd)
	for late := time.Now().Add(deadline); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "reaped")); err == nil {
			return
		}
		if time.Now().After(late) {
			t.Fatal("the daemon is not reaped")
		}
	}
}
