package conn

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/proc"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/testkit/peers"
)

// The server answers no call before it has read one more line. It simulates a server with a runtime that has stalled in
// a blocking read of stdin.
func TestASilentServerIsWokenOnce(t *testing.T) {
	noLeaks(t)
	log := filepath.Join(t.TempDir(), "log")
	const server = `read x; echo '{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}'
		read call; read woken; echo '{"jsonrpc":"2.0","id":2,"result":{"woken":'"$woken"'}}'
		while read line; do
			echo "$line" >>"$LOG"
			case $line in *tools/call*) (sleep 0.5; echo '{"jsonrpc":"2.0","id":3,"result":{}}') & ;; esac
		done`
	c, _, err := DialStdio(t.Context(), Command{Command: proc.Command{
		Path: "sh", Args: []string{"-c", server}, Env: []string{"PATH=" + os.Getenv("PATH"), "LOG=" + log},
	}}, Options{wakeAfter: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	result, err := c.Call(t.Context(), toolCall(protocol.Modern, "x", `{}`, 0))
	const want = `{"woken":{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0,"reason":"no request: the server has been silent"}}}`
	if string(result) != want || err != nil {
		t.Fatalf("%s, %v", result, err)
	}
	if _, err := c.Call(t.Context(), toolCall(protocol.Modern, "slow", `{}`, 0)); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if lines, _ := os.ReadFile(log); strings.Count(string(lines), "requestId") != 1 {
		t.Errorf("a call that takes ten times as long wakes the server more than once:\n%s", lines)
	}
}

// An answer over the limit fails its call, even if the server writes the id last.
func TestAnAnswerThatIsTooLongFailsItsCall(t *testing.T) {
	noLeaks(t)
	const server = `read x; echo '{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}'
		read call; printf '{"method":"notifications/message","params":"%09000d"}\n' 0; printf '{"result":{"method":"%09000d"},"jsonrpc":"2.0","id":2}\n' 0
		read one; read two; printf '{"result":"%09000d","jsonrpc":"2.0","id":3}\n' 0; read end`
	c, _, err := DialStdio(t.Context(), Command{Command: proc.Command{Path: "sh", Args: []string{"-c", server}, Env: proc.Environ(os.Environ(), nil, false)}}, Options{MaxMessage: 8000})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	call := func() error {
		_, err := c.Call(t.Context(), toolCall(protocol.Modern, "x", `{}`, 0))
		var bad *ProtocolError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), "over the limit of 8000") {
			t.Errorf("err = %v", err)
		}
		return c.Err()
	}
	if died := call(); died != nil {
		t.Errorf("the connection died: %v", died)
	}
	var both sync.WaitGroup
	both.Go(func() { _ = call() })
	both.Go(func() { _ = call() })
	both.Wait()
	waitFor(t, c.Done(), "the end of a connection of which nobody knows whose answer is lost")
}

// The message that wakes a server has no effect on a server that is only slow.
func TestWakingASlowPeerIsHarmless(t *testing.T) {
	noLeaks(t)
	name, args := peers.Everything(t, "stdio")
	stderr := func() string { return "" }
	c, h, err := DialStdio(t.Context(), Command{Command: proc.Command{Path: name, Args: args, Env: proc.Environ(os.Environ(), nil, false)}}, Options{
		wakeAfter: 50 * time.Millisecond, Trace: Trace{Started: func(_ int, tail func() string) { stderr = tail }},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	before := stderr()
	result, err := c.Call(t.Context(), toolCall(h.Era, "trigger-long-running-operation", `{"duration":0.5,"steps":2}`, 0))
	if err != nil || !strings.Contains(string(result), "completed") || c.Noise() != 0 || stderr() != before {
		t.Errorf("%s, %v; noise %d, stderr %q", result, err, c.Noise(), stderr())
	}
}

// deskLease is a lease that a test ends.
type deskLease struct{ over chan struct{} }

func (l *deskLease) Done() <-chan struct{} { return l.over }

func (l *deskLease) Left() time.Duration {
	select {
	case <-l.over:
		return 0
	default:
		return time.Hour
	}
}

// At the end of its lease a process is killed, although it would need time to end. It is not started again.
func TestAProcessEndsWithItsLease(t *testing.T) {
	noLeaks(t)
	log := filepath.Join(t.TempDir(), "log")
	const server = `trap '' TERM; echo started >>"$LOG"
		read x; echo '{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}'
		while read line; do echo "$line" >>"$LOG"; done; exec sleep 1000`
	lease := &deskLease{make(chan struct{})}
	dial := func() (Conn, error) {
		c, _, err := DialStdio(t.Context(), Command{Command: proc.Command{
			Path: "sh", Args: []string{"-c", server}, Env: []string{"PATH=" + os.Getenv("PATH"), "LOG=" + log},
		}}, Options{Lease: lease})
		return c, err
	}
	c, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	close(lease.over)
	_, err = c.Call(t.Context(), toolCall(protocol.Modern, "x", `{}`, 0))
	if _, unsent := errors.AsType[*UnsentError](err); !unsent && !strings.Contains(err.Error(), "killed") {
		t.Errorf("after its lease: %v", err)
	}
	waitFor(t, c.Done(), "the end of the process")
	c.Close()
	if again, err := dial(); !errors.Is(err, errLeaseOver) {
		t.Errorf("started again: %v", err)
		again.Close()
	}
	if lines, _ := os.ReadFile(log); string(lines) != "started\n" {
		t.Errorf("after its lease it received %q", lines)
	}
}
