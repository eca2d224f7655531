package ledger_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
)

// model is the simplest possible ledger: lists, and nothing shared.
type model struct {
	keys   []ledger.Key
	server map[ledger.Key]string
	text   map[ledger.Key]string
	seq    uint64
}

func newModel() *model {
	return &model{server: map[ledger.Key]string{}, text: map[ledger.Key]string{}}
}

func (m *model) enroll(k ledger.Key, server, text string) {
	m.seq++
	if !slices.Contains(m.keys, k) {
		m.keys = append(m.keys, k)
	}
	m.server[k], m.text[k] = server, text
}

func (m *model) retire(k ledger.Key) {
	m.seq++
	m.keys = slices.DeleteFunc(m.keys, func(o ledger.Key) bool { return o == k })
}

func (m *model) withdraw(server string) {
	for _, k := range slices.Clone(m.keys) {
		if m.server[k] == server {
			m.retire(k)
		}
	}
}

func (m *model) end() { m.seq++; m.keys = nil }

// state holds the values that a test compares.
type state struct {
	Keys     []ledger.Key
	Texts    []string
	ByServer map[string]int
	High     uint64
}

func (m *model) state() state {
	s := state{ByServer: map[string]int{}, High: m.seq}
	for _, k := range m.keys {
		s.Keys, s.Texts = append(s.Keys, k), append(s.Texts, m.text[k])
		s.ByServer[m.server[k]]++
	}
	return s
}

func stateOf(snap ledger.Snapshot) state {
	s := state{ByServer: snap.ByServer, High: snap.HighWater}
	for _, e := range snap.Live {
		s.Keys, s.Texts = append(s.Keys, e.Key), append(s.Texts, e.Capability.Description)
	}
	return s
}

// After any operations, the ledger equals the model. The same holds for its log, replayed, in any order, and compacted.
// Earlier values do not change.
func TestLedgerIsTheModel(t *testing.T) {
	t.Parallel()
	for range 60 {
		seed := rand.Uint64()
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { againstModel(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

func againstModel(t *testing.T, r *rand.Rand) {
	m, l := newModel(), ledger.Ledger{}
	type moment struct {
		l ledger.Ledger
		s state
	}
	past := []moment{{l, m.state()}}
	for step := range 150 {
		l = operate(r, m, l, step)
		past = append(past, moment{l, m.state()})
	}
	for i, p := range past {
		if diff := cmp.Diff(p.s, stateOf(p.l.Snapshot()), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("after %d steps (-model +ledger):\n%s", i, diff)
		}
		if i%10 == 0 {
			wantReplay(t, r, p.l, p.s)
		}
	}
}

// operate does one random operation on both.
func operate(r *rand.Rand, m *model, l ledger.Ledger, step int) ledger.Ledger {
	at := time.UnixMilli(int64(step))
	server := fmt.Sprintf("s%d", r.IntN(3))
	c := ledger.Capability{Server: server, Tool: fmt.Sprintf("t%d", r.IntN(6)), Description: fmt.Sprint(step)}
	k := ledger.ContentKey(config.QualifiedName(c.Server, c.Tool), nil)
	switch n := r.IntN(20); {
	case n < 10:
		m.enroll(k, server, c.Description)
		return l.Enroll(at, c)
	case n < 15:
		m.retire(k)
		return l.Retire(at, server, k)
	case n < 17:
		m.withdraw(server)
		return l.Withdraw(at, server)
	case n < 18:
		m.seq++
		return l.Append(ledger.Entry{Op: "of a later version", Key: k, At: at})
	case n < 19:
		return l.Compact()
	}
	m.end()
	return l.Append(ledger.Entry{Op: ledger.End, At: at})
}

func wantReplay(t *testing.T, r *rand.Rand, l ledger.Ledger, want state) {
	t.Helper()
	log := slices.Clone(l.Log())
	for range 3 {
		r.Shuffle(len(log), func(i, j int) { log[i], log[j] = log[j], log[i] })
		if diff := cmp.Diff(want, stateOf(ledger.Reduce(log)), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("a permutation (-want +got):\n%s", diff)
		}
	}
	again := ledger.FromLog(log)
	if diff := cmp.Diff(want, stateOf(again.Snapshot()), cmpopts.EquateEmpty()); diff != "" || again.Next() != want.High+1 {
		t.Fatalf("from its log, next %d (-want +got):\n%s", again.Next(), diff)
	}
	small := again.Compact()
	if diff := cmp.Diff(want, stateOf(ledger.Reduce(small.Log())), cmpopts.EquateEmpty()); diff != "" || small.Next() != want.High+1 {
		t.Fatalf("compacted, next %d (-want +got):\n%s", small.Next(), diff)
	}
	if n := len(small.Log()); n > 2*len(want.Keys)+1 {
		t.Fatalf("%d entries for %d keys", n, len(want.Keys))
	}
}

func TestLedgerBegins(t *testing.T) {
	l := ledger.Ledger{}
	if l.Next() != 1 || len(l.Log()) != 0 || len(l.Snapshot().Live) != 0 {
		t.Errorf("an empty ledger has %v, next %d", l.Log(), l.Next())
	}
	l = l.Enroll(time.Now(), ledger.Capability{Server: "fs", Tool: "read"})
	if got := l.Log()[0].Seq; got != 1 {
		t.Errorf("the first entry has Seq %d", got)
	}
}

// A broken log may have a number twice. Its snapshot is still unique.
func TestReduceOfTies(t *testing.T) {
	log := []ledger.Entry{
		{Op: ledger.Enroll, Key: "a", Server: "s", Seq: 1}, {Op: ledger.Retire, Key: "a", Server: "s", Seq: 1},
		{Op: ledger.Enroll, Key: "b", Server: "s", Seq: 1}, {Op: ledger.Enroll, Key: "a", Server: "t", Seq: 1},
	}
	want := ledger.Reduce(log)
	for range 50 {
		rand.Shuffle(len(log), func(i, j int) { log[i], log[j] = log[j], log[i] })
		if diff := cmp.Diff(want, ledger.Reduce(log), cmpopts.IgnoreUnexported(ledger.Capability{})); diff != "" {
			t.Fatal(diff)
		}
	}
}

func FuzzReduce(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x01\x01\x03\x02\x00\x04"))
	ops := []ledger.Op{ledger.Enroll, ledger.Retire, ledger.End, ledger.Hold, ""}
	f.Fuzz(func(t *testing.T, b []byte) {
		var log []ledger.Entry
		for ; len(b) >= 3; b = b[3:] {
			log = append(log, ledger.Entry{Op: ops[int(b[0])%len(ops)], Key: ledger.Key(b[1:2]), Server: string(b[1] % 3), Seq: uint64(b[2])})
		}
		want := ledger.Reduce(log)
		slices.Reverse(log)
		if diff := cmp.Diff(want, ledger.Reduce(log)); diff != "" {
			t.Fatal(diff)
		}
		total := 0
		for _, n := range want.ByServer {
			total += n
		}
		if total != len(want.Live) {
			t.Fatalf("%d live, counted %d", len(want.Live), total)
		}
	})
}
