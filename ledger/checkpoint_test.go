package ledger_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/toolbox"
)

// remembered is all that a state says of servers.
func remembered(s *ledger.State, servers []interop.Server) map[string]string {
	out := s.Approved()
	for from, says := range s.Described(servers) {
		out["says "+from] = says
	}
	known := s.Known(servers)
	for _, server := range servers {
		out["heard "+server.ID] = s.Heard(server).UTC().String()
		for _, w := range known(server.ID) {
			out["known "+server.ID] += w.Format + " " + string(w.JSON) + "\n"
		}
	}
	return out
}

// Whatever is written by whom, the state that a checkpoint and what follows it give is that
// of the whole log, and the log is intact.
func TestTheStateIsThatOfTheLog(t *testing.T) {
	for range 6 {
		seed := rand.Uint64()
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { againstTheLog(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

func againstTheLog(t *testing.T, r *rand.Rand) {
	path := logPath(t)
	open := func() *ledger.File {
		f := ledger.Unsynced(open(t, path))
		if r.IntN(2) == 0 {
			f = ledger.Checkpointed(f)
		}
		return f
	}
	servers := []interop.Server{{ID: "a"}, {ID: "b"}, {ID: "b", Transport: interop.HTTP{URL: "http://b"}}}
	f, compacts := open(), r.IntN(2) == 0
	for range 40 {
		if r.IntN(3) == 0 {
			f = open()
		}
		var batch []ledger.Entry
		for range 1 + r.IntN(6) {
			batch = append(batch, anything(r, servers))
		}
		put(t, f, batch...)
		if compacts && r.IntN(12) == 0 {
			if _, err := f.Compact(t.Context(), time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
		state, err := open().State(t.Context(), servers...)
		if err != nil {
			t.Fatal(err)
		}
		log := read(t, f)
		want, got := remembered(ledger.StateOf(log), servers), remembered(state, servers)
		if compacts { // an object that comes again later is that of earlier entries too
			want, got = ledger.StateOf(log).Approved(), state.Approved()
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-log +checkpoint):\n%s", diff)
		}
		wantWhole(t, f, len(log))
	}
}

// anything is an entry that might be written.
func anything(r *rand.Rand, servers []interop.Server) ledger.Entry {
	server := servers[r.IntN(len(servers))]
	e := enrolled(fmt.Sprint("run", r.IntN(4)), 0, capability(server.ID, fmt.Sprint("t", r.IntN(3)), fmt.Sprint("version ", r.IntN(3)), anyObject))
	e.At = time.Time{}
	e.Config, e.Changed = ledger.Fingerprint(server), r.IntN(4) == 0
	switch r.IntN(11) {
	case 0:
		return ledger.Entry{Op: ledger.Begin, Run: e.Run}
	case 1:
		return ledger.Entry{Op: ledger.End, Run: e.Run}
	case 2, 3, 4:
		e.Op, e.Capability, e.Note = ledger.Retire, nil, []string{"lost", "unlisted", "removed"}[r.IntN(3)]
	case 5:
		e.Op = ledger.Hold
	case 6:
		e.Op, e.Run, e.Capability, e.Sum = ledger.Accept, "somebody", nil, fmt.Sprint("sum ", r.IntN(3))
	case 7:
		says := ledger.Capability{Server: server.ID, Wire: toolbox.Wire{Format: "f", JSON: fmt.Appendf(nil, `{"says":%d}`, r.IntN(3))}}
		e = ledger.Entry{Op: ledger.Describe, Run: e.Run, Config: e.Config, Server: server.ID, Capability: &says}
	}
	return e
}

// A checkpoint that is not one of the log is none, and one that says something else is found.
func TestABrokenCheckpoint(t *testing.T) {
	server := interop.Server{ID: "fs"}
	begin := func(t *testing.T) (path string, f *ledger.File) {
		path = logPath(t)
		f = ledger.Checkpointed(open(t, path))
		for i := range 3 {
			e := enrolled("A", i, capability("fs", fmt.Sprint("t", i), "", anyObject))
			e.Config = ledger.Fingerprint(server)
			put(t, f, e)
		}
		if _, err := f.State(t.Context()); err != nil {
			t.Fatal(err)
		}
		return path, open(t, path)
	}
	known := func(t *testing.T, f *ledger.File) int {
		s, err := f.State(t.Context(), server)
		if err != nil {
			t.Fatal(err)
		}
		return len(s.Known([]interop.Server{server})("fs"))
	}
	for name, damage := range map[string]func(path string, b []byte) []byte{
		"gone":      func(path string, _ []byte) []byte { os.Remove(path); return nil },
		"empty":     func(string, []byte) []byte { return nil },
		"torn":      func(_ string, b []byte) []byte { return b[:len(b)/2] },
		"altered":   func(_ string, b []byte) []byte { return bytes.ReplaceAll(b, []byte(`"fs"`), []byte(`"sf"`)) },
		"no object": func(_ string, b []byte) []byte { return append(slices.Clone(b[:65]), "[]"...) },
	} {
		t.Run(name, func(t *testing.T) {
			path, f := begin(t)
			write(t, path+".checkpoint", damage(path+".checkpoint", contents(t, path+".checkpoint")))
			if n := known(t, f); n != 3 {
				t.Errorf("%d tools are known", n)
			}
			wantWhole(t, f, 3)
		})
	}
	t.Run("of another log", func(t *testing.T) {
		path, _ := begin(t)
		other, f := begin(t)
		put(t, f, ledger.Entry{Op: ledger.Health})
		write(t, other+".checkpoint", contents(t, path+".checkpoint"))
		if n := known(t, f); n != 3 {
			t.Errorf("%d tools are known", n)
		}
		wantWhole(t, f, 4)
	})
	t.Run("of a log that was altered", func(t *testing.T) {
		path, f := begin(t)
		write(t, path, bytes.Replace(contents(t, path), []byte(`"tool":"t1"`), []byte(`"tool":"x1"`), 1))
		r := verify(t, f)
		if len(r.Damage) != 2 || !strings.Contains(r.Damage[1].Why, "ledger.jsonl.checkpoint") {
			t.Errorf("the damage is %v", r.Damage)
		}
	})
	t.Run("the log is cut", func(t *testing.T) {
		path, f := begin(t)
		b := contents(t, path)
		write(t, path, b[:bytes.IndexByte(b, '\n')+1])
		if n := known(t, f); n != 1 {
			t.Errorf("%d tools are known", n)
		}
		if got := put(t, f, ledger.Entry{Op: ledger.Health}); got[0].Seq != 2 {
			t.Errorf("it goes on with %d", got[0].Seq)
		}
		wantWhole(t, f, 2)
	})
}
