//go:build unix

package ledger_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/testkit/natsserver"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/replica/cluster"
	"github.com/indusagi/indus/replica/cluster/nats"
)

func connectNATS(t *testing.T, s *natsserver.Server) cluster.Engine {
	t.Helper()
	e, err := nats.Connect(t.Context(), &nats.Options{Servers: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// On NATS, the log is that of a file, with batches and tools over the limit of a message.
func TestTheLogOnNATS(t *testing.T) {
	t.Parallel()
	s, f := natsserver.Start(t), open(t, logPath(t))
	l := ledger.ArchivedShared(openShared(t, connectNATS(t, s)), 1<<20)
	want := twoRuns(t, f)
	if diff := diffEntries(want, twoRuns(t, l)); diff != "" {
		t.Errorf("as stored (-file +cluster):\n%s", diff)
	}
	var batch []ledger.Entry
	for i := range 4 {
		batch = append(batch, enrolled("C", i, capability("big", fmt.Sprint("t", i), strings.Repeat(fmt.Sprint(i), 900<<10), anyObject)))
	}
	appendTo(t, l, batch...) // and an archive
	other := openShared(t, connectNATS(t, s))
	all := withoutArchives(historyOf(t, other))
	if diff := diffEntries(want, all[:len(want)]); diff != "" {
		t.Errorf("(-file +cluster):\n%s", diff)
	}
	for i, e := range ledger.Live(read(t, other)) {
		if e.Server == "big" && string(e.Capability.Wire.JSON) != string(batch[i-len(ledger.Live(want))].Capability.Wire.JSON) {
			t.Errorf("tool %d is not whole", i)
		}
	}
	if n := len(historyOf(t, other)) - len(all); n != 1 {
		t.Errorf("there are %d archives", n)
	}
}

// NATS is killed while several processes write. Each batch is stored once.
func TestWritersWhileNATSIsKilled(t *testing.T) {
	t.Parallel()
	const writers, batches = 3, 150
	s := natsserver.Start(t)
	var all sync.WaitGroup
	for w := range writers {
		l := openShared(t, connectNATS(t, s))
		all.Go(func() { writeQueue(t, l, w, batches) })
	}
	for range 2 {
		time.Sleep(100 * time.Millisecond) // they write meanwhile
		s.Kill()
		s.Run()
	}
	all.Wait()
	wantQueues(t, withoutArchives(historyOf(t, openShared(t, connectNATS(t, s)))), writers, batches)
}
