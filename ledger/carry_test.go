package ledger_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/toolbox"
)

// present returns the present state of a log: the approved, known, changed and live tools, and the runs that go on.
func present(entries []ledger.Entry, servers []config.Server) map[string]string {
	state := ledger.StateOf(entries)
	out := state.Approved()
	for from, description := range state.Described(servers) {
		out["says "+from] = description
	}
	for _, server := range servers {
		out["heard "+server.ID] = state.Heard(server).UTC().String()
		var known []string
		for _, w := range state.Known(servers)(server.ID) {
			known = append(known, w.Format+" "+string(w.JSON))
		}
		slices.Sort(known)
		out["known "+server.ID] = strings.Join(known, "\n")
	}
	approved := ledger.Approved(entries)
	for _, e := range ledger.Changed(entries) {
		previous, ok := approved(e)
		out[fmt.Sprint("changed ", e.Seq)] = fmt.Sprint(e.Capability.Description, ok, previous.Capability != nil && previous.Capability.Description != "")
	}
	for _, r := range ledger.Runs(entries) {
		if r.Ended.IsZero() && r.Entries[0].Op == ledger.Begin {
			for _, e := range r.Live().Live {
				out[fmt.Sprint("live ", r.ID, r.Config, r.By, e.Server, e.Tool)] = e.Sum
			}
		} else {
			for _, e := range r.Live().Live {
				out["live of a run that is over"] += e.Name
			}
		}
	}
	return out
}

// randomLog makes random logs of a few concurrent runs. Their servers come, go and change.
type randomLog struct {
	*rand.Rand
	servers []config.Server
	runs    []string // runs that go on
	began   int
	newest  map[string]ledger.Entry // versions of tools that a person may accept
}

func (r *randomLog) next() ledger.Entry {
	if len(r.runs) == 0 || r.IntN(30) == 0 {
		r.began++
		r.runs = append(r.runs, fmt.Sprint("run", r.began))
		return ledger.Entry{Op: ledger.Begin, Run: r.runs[len(r.runs)-1], Config: fmt.Sprint("c", r.IntN(2)), Note: "somebody"}
	}
	at := r.IntN(len(r.runs))
	run, server := r.runs[at], r.servers[r.IntN(len(r.servers))]
	e := enrolled(run, 0, capability(server.ID, fmt.Sprint("t", r.IntN(3)), fmt.Sprint("version ", r.IntN(4)), anyObject))
	e.At = time.Time{}
	e.Config, e.Changed = ledger.Fingerprint(server), r.IntN(4) == 0
	e.Sum = ledger.Ledger{}.Enroll(start, *e.Capability).Log()[0].Sum
	switch r.IntN(16) {
	case 0:
		r.runs = slices.Delete(r.runs, at, at+1)
		return ledger.Entry{Op: ledger.End, Run: run}
	case 1, 2, 3, 4:
		e.Op, e.Capability, e.Note = ledger.Retire, nil, []string{"lost", "unlisted", "removed"}[r.IntN(3)]
	case 5:
		e.Op = ledger.Hold
	case 6:
		e = r.newest[e.Config+e.Name]
		e.Op, e.Run, e.Capability = ledger.Accept, string(ledger.NewKey()), nil
		if e.Sum == "" {
			return ledger.Entry{Op: ledger.Health, Run: run}
		}
		return e
	case 7:
		description := ledger.Capability{Server: server.ID, Wire: toolbox.Wire{Format: "f", JSON: fmt.Appendf(nil, `{"says":%d}`, r.IntN(3))}}
		e = ledger.Entry{Op: ledger.Describe, Run: run, Config: e.Config, Server: server.ID, Capability: &description}
		if r.IntN(3) == 0 {
			description.Wire.JSON = []byte(`{"tools":[{"name":"seen"}],"format":"f"}`)
			e.Run, e.Note = string(ledger.NewKey()), "seen"
		}
	case 8:
		return ledger.Entry{Op: ledger.Health, Run: run, Server: server.ID, Config: e.Config, Note: []string{"lost: transport", "ready"}[r.IntN(2)]}
	case 9:
		return ledger.Entry{Op: ledger.Reload, Run: run, Config: fmt.Sprint("c", r.IntN(3))}
	case 10:
		e.Note = "listed to clients that declare a capability"
	case 11:
		if r.IntN(20) == 0 {
			return ledger.Entry{Op: ledger.Reset, Run: string(ledger.NewKey())}
		}
	}
	if e.Op == ledger.Enroll || e.Op == ledger.Hold {
		r.newest[e.Config+e.Name] = e
	}
	return e
}

// The present state of a log is the same as for all its entries, however often the log became an archive.
func TestThePresentIsThatOfTheWholeLog(t *testing.T) {
	t.Parallel()
	for range 4 {
		seed := rand.Uint64()
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { againstTheLog(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

func againstTheLog(t *testing.T, r *rand.Rand) {
	path := logPath(t)
	servers := []config.Server{{ID: "a"}, {ID: "b"}, {ID: "b", Transport: config.HTTP{URL: "http://b"}}}
	log := randomLog{Rand: r, servers: servers, newest: map[string]ledger.Entry{}}
	var f *ledger.File
	for range 60 {
		if f == nil || r.IntN(3) == 0 {
			f = ledger.Archived(ledger.Unsynced(open(t, path)), int64(2000+r.IntN(4000)))
		}
		var batch []ledger.Entry
		for range 1 + r.IntN(8) {
			batch = append(batch, log.next())
		}
		appendTo(t, f, batch...)
		all := history(t, f)
		if diff := cmp.Diff(present(all, servers), present(read(t, f), servers)); diff != "" {
			t.Fatalf("(-all +read):\n%s", diff)
		}
	}
	if r := verify(t, f); r.Entries != len(history(t, f)) {
		t.Errorf("%d entries are verified of %d", r.Entries, len(history(t, f)))
	}
}

// The entries that are carried are all carried again.
func TestWhatIsCarriedIsCarriedAgain(t *testing.T) {
	t.Parallel()
	log := randomLog{Rand: rand.New(rand.NewPCG(rand.Uint64(), 1)), servers: []config.Server{{ID: "a"}, {ID: "b"}}, newest: map[string]ledger.Entry{}}
	var all []ledger.Entry
	for i := range 3000 {
		e := log.next()
		e.Seq = uint64(i + 1)
		all = append(all, e)
	}
	once := ledger.Carried(all)
	if diff := diffEntries(once, ledger.Carried(once)); diff != "" {
		t.Errorf("(-once +twice):\n%s", diff)
	}
	if len(once) > 600 {
		t.Errorf("%d of %d entries are carried", len(once), len(all))
	}
}

// An archive keeps the refusal of a version, also if a later run has held the same version again.
func TestARefusalIsCarried(t *testing.T) {
	t.Parallel()
	held := ledger.Entry{Op: ledger.Hold, Server: "s", Tool: "t", Name: "s__t", Config: "c", Sum: "2", Run: "r", Changed: true, Seq: 2}
	all := []ledger.Entry{
		{Op: ledger.Enroll, Server: "s", Tool: "t", Name: "s__t", Config: "c", Sum: "1", Run: "r", Seq: 1}, held,
		held.Refusal("by bob"), held,
	}
	all[2].Seq, all[3].Seq, all[3].Run = 3, 4, "later"
	carried := ledger.Carried(all)
	i := slices.IndexFunc(carried, func(e ledger.Entry) bool { return e.RefusedBy() == "by bob" })
	if i < 0 || carried[i].Sum != "2" || carried[i].Run == held.Run {
		t.Errorf("%+v", carried)
	}
	if changed := ledger.Changed(carried); len(changed) != 1 || changed[0].RefusedBy() != "" {
		t.Errorf("%+v", changed)
	}
}
