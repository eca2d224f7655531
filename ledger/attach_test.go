package ledger_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
)

func TestAttachEnrolls(t *testing.T) {
	t.Parallel()
	fs, web := newShelf(t, "fs", row("echo", "Echoes."), row("read", "Reads.\nAll of it.")), newShelf(t, "web", row("echo", "Echoes too."))
	typo := config.Server{ID: "typo", Transport: config.Stdio{Command: "no-such-command"}}
	log := open(t, logPath(t))
	before := ledger.Ledger{}.Enroll(start, capability("old", "tool", "", anyObject))
	o := &ledger.Options{Mount: &interop.MountOptions{FleetOptions: interop.FleetOptions{Restart: interop.Restart{Off: true}}}, Log: log, By: "a test"}
	a := ledger.Attach(t.Context(), ledger.Ledger{}, append(configs(fs, web), typo), o)
	defer a.Close()

	if diff := cmp.Diff([]string{"fs__echo", "fs__read", "web__echo"}, a.Names()); diff != "" || a.Enrolled != 3 {
		t.Errorf("%d enrolled:\n%s", a.Enrolled, diff)
	}
	if diff := cmp.Diff(map[string]int{"fs": 2, "web": 1, "typo": 0}, a.Counts()); diff != "" {
		t.Error(diff)
	}
	if st := a.Status(); len(st) != 3 || st[2].Fault == nil || st[2].Fault.Kind != interop.SpawnFailed {
		t.Errorf("status %+v", st)
	}
	if got := listed(a); got != "fs__echo fs__read web__echo" {
		t.Errorf("the box has %s", got)
	}
	live := a.Ledger().Snapshot()
	for _, e := range live.Live {
		if want := ledger.ContentKey(config.QualifiedName(e.Server, e.Tool), e.Capability.Schema); e.Key != want || e.Changed {
			t.Errorf("%s has the key %s, want %s", e.Name, e.Key, want)
		}
	}
	for _, c := range append(a.Capabilities(), live.Capabilities()...) {
		if c.Tool != "echo" {
			continue
		}
		if got := c.Run(t.Context(), json.RawMessage(`{"message":"hi"}`)); got.IsError() || *got.Blocks()[0].Text != "hi" {
			t.Errorf("%s says %+v", c.Name, got.Blocks())
		}
	}
	if got := live.Of("fs")[1].Capability.Card(); got.Summary != "Reads." || got.Name != "fs__read" || got.Tool != "read" {
		t.Errorf("card %+v", got)
	}
	want := []string{"begin: a test", "enroll fs echo", "enroll fs read", "enroll web echo"}
	got := slices.DeleteFunc(recordedWords(t, a, log), func(s string) bool { return strings.HasPrefix(s, "health typo") })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
	if len(before.Snapshot().Live) != 1 {
		t.Error("a ledger was changed")
	}
}

func TestAttachNothing(t *testing.T) {
	l := ledger.Ledger{}.Enroll(start, capability("old", "tool", "", anyObject))
	log := open(t, logPath(t))
	a := ledger.Attach(t.Context(), l, nil, &ledger.Options{Log: log})
	defer a.Close()
	if got := a.Ledger().Snapshot().Names(); len(got) != 1 || a.Enrolled != 0 || len(a.Status()) != 0 {
		t.Errorf("%v, %d enrolled", got, a.Enrolled)
	}
	if got := recordedWords(t, a, log); len(got) > 0 {
		t.Errorf("the log says %v", got)
	}
}

func TestDetachSome(t *testing.T) {
	fs, web := newShelf(t, "fs", row("echo", "")), newShelf(t, "web", row("echo", ""))
	log := open(t, logPath(t))
	a := attach(t, configs(fs, web), &ledger.Options{Log: log})
	before := a.Ledger()
	after := a.Detach("fs", "nobody")
	if diff := cmp.Diff([]string{"web__echo"}, after.Snapshot().Names()); diff != "" {
		t.Error(diff)
	}
	if len(before.Snapshot().Live) != 2 {
		t.Error("the ledger of before was changed")
	}
	fs.Wait("eof")
	web.Wait("start ")
	if got := echo(t, a, "web__echo", "still here"); got != "still here" || len(web.Events("start ")) != 1 {
		t.Errorf("web says %q", got)
	}
	after = a.Detach()
	if len(after.Snapshot().Live) != 0 || after.Snapshot().HighWater != 4 || listed(a) != "" {
		t.Errorf("after all are detached %+v", after.Snapshot())
	}
	a.Detach("web")
	a.Close()
	got := recordedWords(t, a, log)
	if diff := cmp.Diff([]string{"reload", "retire fs echo: removed", "end"}, got[3:]); diff != "" {
		t.Error(diff)
	}
}

// The end of one process does not retire tools of another.
func TestRunsShareALog(t *testing.T) {
	t.Parallel()
	s := newShelf(t, "fs", row("echo", ""))
	path := logPath(t)
	one := attach(t, configs(s), &ledger.Options{Log: open(t, path)})
	two := attach(t, configs(s), &ledger.Options{Log: open(t, path)})
	one.Close()
	if got := echo(t, two, "fs__echo", "here"); got != "here" {
		t.Error(got)
	}
	recordedWords(t, two, open(t, path))
	runs := ledger.Runs(read(t, open(t, path)))
	if len(runs) != 2 || len(runs[0].Live().Live) != 0 || len(runs[1].Live().Live) != 1 || runs[0].Config != runs[1].Config {
		t.Errorf("runs %+v", runs)
	}
	wantWhole(t, open(t, path), 5)
}

// Two pairs of server and tool may have the same plain name. They are two tools nevertheless.
func TestOnePlainNameForTwo(t *testing.T) {
	a := attach(t, configs(newShelf(t, "a", row("b__c", "")), newShelf(t, "a__b", row("c", ""))), nil)
	if live := a.Ledger().Snapshot(); len(live.Live) != 2 || live.ByServer["a"] != 1 || live.ByServer["a__b"] != 1 {
		t.Errorf("%+v", live)
	}
}

// A tool that is attached again can be run again, and keeps its place.
func TestAttachAgain(t *testing.T) {
	t.Parallel()
	s := newShelf(t, "fs", row("echo", ""))
	path := logPath(t)
	first := attach(t, configs(s), &ledger.Options{Log: open(t, path)})
	if err := first.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	old := ledger.FromLog(read(t, open(t, path))).Enroll(start, capability("z", "t", "", anyObject))
	a := ledger.Attach(t.Context(), old, configs(s), nil)
	defer a.Close()
	live := a.Ledger().Snapshot()
	if diff := cmp.Diff([]string{"fs__echo", "z__t"}, live.Names()); diff != "" || a.Enrolled != 1 {
		t.Errorf("%d enrolled\n%s", a.Enrolled, diff)
	}
	if r := old.Snapshot().Live[0].Capability.Run(t.Context(), nil); !r.IsError() {
		t.Error("a tool of the log can be run")
	}
	if r := live.Live[0].Capability.Run(t.Context(), json.RawMessage(`{"message":"hi"}`)); r.IsError() {
		t.Errorf("it says %v", *r.Blocks()[0].Text)
	}
}
