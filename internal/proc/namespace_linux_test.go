package proc_test

import (
	"os"
	"os/exec"
	"testing"
)

// In a container that was entered from outside, the session that all processes are in has no
// number there. What left the group of a server must be found all the same.
func TestInAPIDNamespace(t *testing.T) {
	inside := []string{"--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child", "--"}
	if out, err := exec.Command("unshare", append(inside, "true")...).CombinedOutput(); err != nil {
		t.Skipf("no namespaces for us here: %v: %s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), "unshare", append(inside, os.Args[0], "-test.run=^TestCloseEndsWhatLeftTheGroup$", "-test.v")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
