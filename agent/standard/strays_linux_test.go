package standard_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/indusagi/indus/agent/standard"
	"github.com/indusagi/indus/toolbox"
)

// TestWhatLeavesItsSessionEndsWithTheDeck checks that a daemon of a command runs until the deck is closed or its
// process is stopped.
func TestWhatLeavesItsSessionEndsWithTheDeck(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip(err)
	}
	tc, err := toolbox.NewContext(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	deck := standard.New(nil)
	t.Cleanup(deck.Close)
	r := toolbox.NewRegistry(tc)
	r.Add(deck.Tools()...)
	daemon := `setsid -f sh -c '%s echo $$ >&3; exec sleep 1000 3>&-' 3>pid.$$ >/dev/null 2>&1; until [ -s pid.$$ ]; do sleep 0.01; done; cat pid.$$`
	gentle, rude := fmt.Sprintf(daemon, ""), fmt.Sprintf(daemon, `trap "" TERM;`)
	start := func(line string) string {
		got := call(t, r, "process", bashInput(t, line, map[string]any{"action": "start", "wait": 60}))
		pid, _, _ := strings.Cut(got, "\n")
		return pid
	}
	lives := []string{
		call(t, r, "bash", bashInput(t, gentle, nil)), call(t, r, "bash", bashInput(t, rude, nil)), start(gentle),
	}
	stopped := start(rude + "; exec sleep 1000")
	in, _ := json.Marshal(map[string]any{"action": "stop", "id": "p2"})
	if got := call(t, r, "process", string(in)); !strings.Contains(got, "p2: stopped") {
		t.Error(got)
	}
	if isAlive(t, stopped) {
		t.Error("what a process has left lives after its stop")
	}
	for _, pid := range lives {
		if !isAlive(t, pid) {
			t.Errorf("%s ended with its command", pid)
		}
	}
	deck.Close()
	for _, pid := range lives {
		if isAlive(t, pid) {
			t.Errorf("%s is left", pid)
		}
	}
	if got := call(t, r, "bash", bashInput(t, "echo ran", nil)); !strings.Contains(got, "has ended") {
		t.Errorf("a command runs after the end: %s", got)
	}
	deck.Close()
}
