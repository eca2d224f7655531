//go:build unix

package agent_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/toolbox"
)

// TestAKilledSessionGoesOn kills a process during a call and continues its session.
func TestAKilledSessionGoesOn(t *testing.T) {
	if path := os.Getenv("AGENT_TEST_KILLED"); path != "" {
		hang := tool("hang", func(ctx context.Context, _ *toolbox.Context, _ json.RawMessage) (*toolbox.Result, error) {
			fmt.Println("it runs")
			<-ctx.Done()
			return nil, ctx.Err()
		})
		m := model(textReply("hello"), calls("1", "quick", "{}"), calls("2", "hang", "{}"))
		s := agent.New(agent.Options{Provider: m, Tools: box(tool("quick", nil), hang), Journal: open(t, path)})
		_, _ = s.Prompt(t.Context(), "hi")
		_, _ = s.Prompt(t.Context(), "go") // until the process is killed
		return
	}
	path := filepath.Join(t.TempDir(), "t.jsonl")
	c := exec.Command(os.Args[0], "-test.run=TestAKilledSessionGoesOn")
	c.Env = append(os.Environ(), "AGENT_TEST_KILLED="+path)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "it runs\n" {
		t.Error(line, err)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // killed
	tr := open(t, path)
	m := model(textReply("I look first"))
	s := agent.New(agent.Options{Provider: m, Journal: tr, History: tr.Entries()})
	if got, err := s.Prompt(t.Context(), ""); err != nil || got.Text != "I look first" {
		t.Fatal(got, err)
	}
	sent := m.last().Messages
	checkShape(t, sent)
	if len(sent) != 7 || outputs(sent[4])[0] != "quick{}" || !strings.Contains(outputs(sent[6])[0], "it is unknown") {
		t.Errorf("%d messages: %+v", len(sent), sent)
	}
}
