package ledger_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
)

// Random configurations are applied while servers change their lists and are killed. Whenever all is quiet, the log has
// the listed tools with their configuration.
func TestTheLogTellsTheTruthAtRandom(t *testing.T) {
	t.Parallel()
	eachLog(t, func(t *testing.T, open opener) {
		seed := rand.Uint64()
		random := rand.New(rand.NewPCG(seed, 0))
		shelves := []*shelf{newShelf(t, "a", row("echo", "")), newShelf(t, "b", row("echo", "")), newShelf(t, "c", row("echo", ""))}
		log := open(t, logPath(t))
		if f, ok := log.(*ledger.File); ok {
			ledger.Unsynced(f)
		}
		a := attach(t, configs(shelves...), &ledger.Options{Log: log, Mount: atOnce()})
		var servers []config.Server
		var steps []string
		apply := func() {
			servers = nil
			for _, i := range random.Perm(len(shelves)) {
				if random.IntN(4) == 0 {
					continue
				}
				s := shelves[i].otherwise(random.IntN(2))
				s.Tools = []config.ToolRules{
					{}, {}, {Deny: []string{"echo"}}, {Allow: []string{"t*"}}, {Rename: map[string]string{"echo": "t0", "t0": "echo"}},
					{Describe: map[string]string{"echo": "Otherwise."}},
				}[random.IntN(6)]
				servers = append(servers, s)
			}
			a.Apply(servers)
		}
		apply()
		for range 40 {
			s := shelves[random.IntN(len(shelves))]
			switch random.IntN(4) {
			case 0:
				steps = append(steps, "fill "+s.id)
				rows := []string{row("echo", fmt.Sprint(random.IntN(3)))}
				for i := range random.IntN(4) {
					rows = append(rows, row(fmt.Sprint("t", i), fmt.Sprint(random.IntN(2))))
				}
				s.fill(t, rows...)
				s.Send("change")
			case 1:
				if all := s.Events("start "); len(all) > 0 {
					steps = append(steps, "kill "+s.id)
					var pid int
					if _, err := fmt.Sscanf(all[len(all)-1], "start %d", &pid); err != nil {
						t.Fatal(err)
					}
					p, err := os.FindProcess(pid)
					if err != nil {
						t.Fatal(err)
					}
					_ = p.Kill() // it may have ended already
				}
			default:
				steps = append(steps, "apply")
				apply()
			}
			if random.IntN(3) > 0 {
				continue // the next step comes in the middle of this one
			}
			quiet(t, a, servers, func() string { return fmt.Sprintf("seed %d: %v", seed, steps) })
			wantTrue(t, a, log, servers)
			if t.Failed() {
				t.Fatalf("seed %d: %v", seed, steps)
			}
		}
		a.Close()
		if run := ledger.Runs(read(t, log))[0]; len(run.Live().Live) > 0 || run.Ended.IsZero() {
			t.Errorf("after Close %v are live", run.Live().Names())
		}
		wantWhole(t, log, len(read(t, log)))
	})
}

// quiet waits until all servers are ready and the enrolled tools are the listed ones.
func quiet(t *testing.T, a *ledger.Attachment, servers []config.Server, where func() string) {
	t.Helper()
	for end := time.Now().Add(giveUp); ; time.Sleep(time.Millisecond) {
		ctx, cancel := context.WithDeadline(t.Context(), end)
		err := a.Fleet.Settle(ctx)
		cancel()
		up := !slices.ContainsFunc(a.Status(), func(st interop.EndpointStatus) bool {
			return st.Phase != interop.Ready || st.Fault != nil || st.Replacing
		})
		if err == nil && up && len(a.Status()) == len(servers) && cmp.Equal(enrolledNow(a), listedNow(a)) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("never quiet: %s\n(-listed +live) %s\n%+v", where(), cmp.Diff(listedNow(a), enrolledNow(a)), a.Status())
		}
	}
}

func enrolledNow(a *ledger.Attachment) []string {
	var out []string
	for _, e := range a.Ledger().Snapshot().Live {
		out = append(out, strings.Join([]string{e.Config, e.Server, e.Tool, e.Name}, " "))
	}
	slices.Sort(out)
	return out
}

func listedNow(a *ledger.Attachment) []string {
	configs := map[string]string{}
	for _, s := range a.Fleet.Servers() {
		configs[s.ID] = ledger.Fingerprint(s)
	}
	var out []string
	for _, d := range a.Fleet.Snapshot("").Tools {
		out = append(out, strings.Join([]string{configs[d.Server], d.Server, d.Tool, d.Name}, " "))
	}
	slices.Sort(out)
	return out
}

// wantTrue checks the snapshot of the log.
func wantTrue(t *testing.T, a *ledger.Attachment, log ledger.Log, servers []config.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), giveUp)
	defer cancel()
	var now ledger.Snapshot
	var run ledger.Run
	for again := true; again; again = now.HighWater != a.Ledger().Snapshot().HighWater { // a lost server is noticed late
		now = a.Ledger().Snapshot()
		if err := a.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		run = ledger.Runs(read(t, log))[0]
	}
	var own, stored []string
	for _, e := range now.Live {
		own = append(own, fmt.Sprint(e.Key, e.Config, e.Name, e.Sum))
	}
	for _, e := range run.Live().Live {
		stored = append(stored, fmt.Sprint(e.Key, e.Config, e.Name, e.Sum))
	}
	if diff := cmp.Diff(own, stored); diff != "" {
		t.Errorf("(-memory +log): %s", diff)
	}
	if run.Config != ledger.Fingerprint(servers...) {
		t.Error("the log has another configuration")
	}
}
