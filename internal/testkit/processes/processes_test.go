package processes_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/testkit/processes"
)

func TestAChildIsFound(t *testing.T) {
	cmd := exec.Command("cat", "-")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	if p, ok := processes.Find(pid); !ok || p.Parent != os.Getpid() || !strings.HasSuffix(p.Command, "cat -") {
		t.Errorf("%v, %v", p, ok)
	}
	if !processes.Alive(pid) {
		t.Error("it counts as ended")
	}
	_ = stdin.Close()
	_ = cmd.Wait()
	if processes.Alive(pid) {
		t.Error("it counts as alive")
	}
}
