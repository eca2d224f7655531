package ledger_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/testkit/clustertest"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/replica/cluster"
)

// replica is a process of a cluster in memory, with a connection of its own.
type replica struct {
	*ledger.Attachment
	client *clustertest.Client
	log    *ledger.Shared
}

// replicate attaches a server as another process. All servers with one id have the same configuration, as far as the
// ledger sees.
func replicate(t *testing.T, m *clustertest.Memory, s *shelf, policy config.ChangePolicy) *replica {
	t.Helper()
	r := &replica{client: m.Connect()}
	r.log = openShared(t, r.client)
	r.attach(t, s, policy)
	return r
}

func (r *replica) attach(t *testing.T, s *shelf, policy config.ChangePolicy) {
	t.Helper()
	server := s.config()
	server.Identity = identityOf(s.id)
	o := &ledger.Options{Log: r.log, Policy: policy, Poll: 5 * time.Millisecond}
	r.Attachment = attach(t, []config.Server{server}, o)
}

func identityOf(id string) []config.Secret {
	return []config.Secret{config.NewSecret(id), config.NewSecret("")}
}

func (r *replica) wants(t *testing.T, names string) {
	t.Helper()
	waitUntil(t, r.Attachment, "lists "+names, func() bool { return listed(r.Attachment) == names })
}

// accept accepts the changed tools, as a command does, once they are recorded.
func accept(t *testing.T, m *clustertest.Memory, tools ...string) {
	t.Helper()
	l := openShared(t, m.Connect())
	var versions []ledger.Entry
	for late := time.Now().Add(giveUp); len(versions) != len(tools); time.Sleep(5 * time.Millisecond) {
		changed := ledger.Changed(read(t, l))
		versions = slices.DeleteFunc(changed, func(e ledger.Entry) bool { return !slices.Contains(tools, e.Tool) })
		if time.Now().After(late) {
			t.Fatalf("changed are %+v", changed)
		}
	}
	if err := ledger.Approve(t.Context(), l, "me", versions...); err != nil {
		t.Fatal(err)
	}
}

// Of two processes that list one server at once, one approves its tools. The other one holds what differs, until a
// person accepts it. Then both list the same.
func TestTheFirstListingIsOneInACluster(t *testing.T) {
	t.Parallel()
	for range 5 {
		var m clustertest.Memory
		shelves := []*shelf{
			newShelf(t, "fs", row("echo", "One."), row("read", "Same.")),
			newShelf(t, "fs", row("echo", "Two."), row("read", "Same."), row("hang", "New.")),
		}
		both := make([]*replica, 2)
		var all sync.WaitGroup
		for i, s := range shelves {
			all.Go(func() { both[i] = replicate(t, &m, s, config.HoldChanges) })
		}
		all.Wait()
		first := slices.IndexFunc(both, func(r *replica) bool { return strings.Contains(listed(r.Attachment), "fs__echo") })
		if first < 0 {
			t.Fatalf("no listing is the first: %q, %q", listed(both[0].Attachment), listed(both[1].Attachment))
		}
		other := 1 - first
		both[first].wants(t, []string{"fs__echo fs__read", "fs__echo fs__read fs__hang"}[first])
		both[other].wants(t, "fs__read")
		if got := echo(t, both[other].Attachment, "fs__echo", "hi"); !strings.Contains(got, "held back") {
			t.Errorf("the later version answers %q", got)
		}
		waitUntil(t, both[other].Attachment, "recorded", func() bool {
			return slices.ContainsFunc(read(t, both[other].log), func(e ledger.Entry) bool {
				return e.Op == ledger.Hold && e.Tool == "echo" && e.Run == both[other].Run
			})
		})
		accept(t, &m, "echo")
		waitUntil(t, both[other].Attachment, "accepted", func() bool { return strings.HasPrefix(listed(both[other].Attachment), "fs__echo fs__read") })
		waitUntil(t, both[first].Attachment, "held", func() bool { return !strings.Contains(listed(both[first].Attachment), "fs__echo") })
		for _, r := range both {
			r.Close()
		}
		for _, e := range historyOf(t, both[0].log) { // the log approves nothing twice
			if e.Op == ledger.Enroll && !e.Changed && e.Run == both[other].Run && e.Tool == "hang" && first == 0 {
				t.Errorf("%+v is approved", e)
			}
		}
	}
}

// A process that starts empty reads the log before it lists.
func TestAReplicaThatStartsEmpty(t *testing.T) {
	t.Parallel()
	var m clustertest.Memory
	s := newShelf(t, "fs", row("echo", "Echoes."))
	first := replicate(t, &m, s, config.HoldChanges)
	first.wants(t, "fs__echo")
	changed := newShelf(t, "fs", row("echo", "Sends."), row("read", "Reads."))
	second := replicate(t, &m, changed, config.HoldChanges)
	if got := listed(second.Attachment); got != "" {
		t.Errorf("it lists %s", got)
	}
	accept(t, &m, "echo", "read")
	second.wants(t, "fs__echo fs__read")
	if got := echo(t, second.Attachment, "fs__echo", "hi"); got != "hi" {
		t.Error(got)
	}
}

// Under a policy that accepts changes, all tools are live at once. The log has which of them are changed.
func TestAcceptedChangesInACluster(t *testing.T) {
	t.Parallel()
	var m clustertest.Memory
	first := replicate(t, &m, newShelf(t, "fs", row("echo", "One.")), "")
	second := replicate(t, &m, newShelf(t, "fs", row("echo", "Two."), row("read", "Reads.")), "")
	if got := listed(second.Attachment); got != "fs__echo fs__read" {
		t.Errorf("there is %s", got)
	}
	waitUntil(t, second.Attachment, "changed", func() bool { return len(ledger.Changed(read(t, first.log))) == 2 })
	if got := second.Changed(); len(got) != 2 {
		t.Errorf("changed are %+v", got)
	}
}

// While the cluster cannot be reached, approved tools are called, held tools stay held, and nothing is approved. Then
// the entries are written, and the processes agree.
func TestWithoutTheCluster(t *testing.T) {
	t.Parallel()
	var m clustertest.Memory
	s := newShelf(t, "fs", row("echo", "Echoes."), row("read", "Reads."))
	a := replicate(t, &m, s, config.HoldChanges)
	a.wants(t, "fs__echo fs__read")
	a.client.SetDown(true)
	s.fill(t, row("echo", "Echoes."), row("read", "Changed."), row("hang", "Hangs."))
	s.Send("change")
	a.wants(t, "fs__echo")
	if got := echo(t, a.Attachment, "fs__echo", "hi"); got != "hi" {
		t.Errorf("an approved tool answers %q", got)
	}
	if got := echo(t, a.Attachment, "fs__hang", "hi"); !strings.Contains(got, "held back") {
		t.Errorf("a new tool answers %q", got)
	}
	fresh := newShelf(t, "new", row("echo", "New."))
	more := fresh.config()
	more.Identity = identityOf("new")
	a.Apply(append(a.Fleet.Servers(), more))
	waitUntil(t, a.Attachment, "refuses", func() bool {
		return strings.Contains(echo(t, a.Attachment, "new__echo", "hi"), "ask again")
	})
	if got := listed(a.Attachment); got != "fs__echo" || len(fresh.Events("call echo")) > 0 {
		t.Errorf("without the cluster there is %s", got)
	}
	if err := a.Accept(t.Context(), "fs", "hang", "me"); err == nil {
		t.Error("a tool is accepted")
	}
	a.client.SetDown(false)
	a.wants(t, "fs__echo new__echo")
	accept(t, &m, "read", "hang")
	a.wants(t, "fs__echo fs__read fs__hang new__echo")
	b := replicate(t, &m, s, config.HoldChanges)
	b.wants(t, "fs__echo fs__read fs__hang")
}

// A run whose process stops answering ends when its lease has expired. If the process answers again, the run goes on
// with its tools.
func TestARunOfAClusterEndsWithItsLease(t *testing.T) {
	t.Parallel()
	var m clustertest.Memory
	a := replicate(t, &m, newShelf(t, "fs", row("echo", "Echoes.")), config.HoldChanges)
	a.wants(t, "fs__echo")
	other := openShared(t, m.Connect())
	isLive := func() bool {
		_, err := other.Reap(t.Context())
		return err == nil && len(ledger.Live(read(t, other))) == 1
	}
	waitUntil(t, a.Attachment, "leased", func() bool { return len(keysOf(t, &m, "ledger-leases")) == 1 && isLive() })
	a.client.SetDown(true)
	waitUntil(t, a.Attachment, "ended", func() bool { return !isLive() })
	if got := listed(a.Attachment); got != "fs__echo" {
		t.Errorf("the process lists %s", got)
	}
	a.client.SetDown(false)
	waitUntil(t, a.Attachment, "recorded again", isLive)
	a.Close()
	if isLive() || len(keysOf(t, &m, "ledger-runs")) != 0 {
		t.Errorf("a run that has ended is live, or leaves %v", keysOf(t, &m, "ledger-runs"))
	}
}

func keysOf(t *testing.T, m *clustertest.Memory, name string) (keys []string) {
	t.Helper()
	all, err := cluster.Entries(t.Context(), m.Connect().KV(name))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		keys = append(keys, e.Key)
	}
	return keys
}
