package ledger_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
)

// with returns a tool object with another member.
func with(tool, member string) string { return strings.Replace(tool, "{", "{"+member+",", 1) }

// A client sees every member of a tool object, so a change of any of them is held.
func TestAChangeOfAnyMemberIsHeld(t *testing.T) {
	t.Parallel()
	eachLog(t, func(t *testing.T, open opener) {
		for _, member := range []string{
			`"_meta":{"ui":{"resourceUri":"ui://other"}}`, `"icons":[{"src":"https://example.com/i.png"}]`,
			`"execution":{"taskSupport":"required"}`, `"title":"Other"`, `"x-unknown":true`, `"outputSchema":{"type":"object"}`,
		} {
			t.Run(member, func(t *testing.T) {
				s, path := newShelf(t, "fs", row("echo", "Echoes."), row("read", "Reads.")), logPath(t)
				attach(t, configs(s), &ledger.Options{Log: open(t, path), Policy: config.HoldChanges}).Close()
				s.fill(t, with(row("echo", "Echoes."), member), row("read", "Reads."))
				a := attach(t, configs(s), &ledger.Options{Log: open(t, path), Policy: config.HoldChanges})
				if got := listed(a); got != "fs__read" {
					t.Errorf("there is %s", got)
				}
			})
		}
	})
}

// If an enrolled server adds or renames a tool, the tool waits until a person accepts it. This holds in this run and in
// the next one.
func TestANewToolOfAnEnrolledServerWaits(t *testing.T) {
	t.Parallel()
	eachLog(t, func(t *testing.T, open opener) {
		s, path := newShelf(t, "fs", row("echo", "Echoes."), row("read", "Reads.")), logPath(t)
		log := open(t, path)
		a := attach(t, configs(s), &ledger.Options{Log: log, Policy: config.HoldChanges})
		if got := listed(a); got != "fs__echo fs__read" {
			t.Fatalf("at the first enrolment there is %s", got)
		}
		s.fill(t, row("read", "Reads."), row("hang", "Hangs."), row("echo2", "Echoes."))
		s.Send("change")
		waitUntil(t, a, "renamed", isNot(isLive(a, "fs__echo")))
		if got := listed(a); got != "fs__read" {
			t.Errorf("there is %s", got)
		}
		if got := echo(t, a, "fs__hang", "hi"); !strings.Contains(got, "held back") || len(s.Events("call hang")) != 0 {
			t.Errorf("a new tool says %q", got)
		}
		a.Close()
		a = attach(t, configs(s), &ledger.Options{Log: log, Policy: config.HoldChanges, Poll: time.Millisecond})
		if got := listed(a); got != "fs__read" {
			t.Errorf("in the next run there is %s", got)
		}
		want := []string{"begin", "enroll fs read", "hold fs hang changed", "hold fs echo2 changed"}
		if diff := cmp.Diff(want, recordedWords(t, a, log)); diff != "" {
			t.Error(diff)
		}
		changed := ledger.Changed(read(t, log))
		if len(changed) != 2 || changed[0].Tool != "hang" || changed[1].Tool != "echo2" {
			t.Fatalf("changed are %+v", changed)
		}
		if err := ledger.Approve(t.Context(), open(t, path), "me", changed[1]); err != nil {
			t.Fatal(err)
		}
		waitUntil(t, a, "accepted", isLive(a, "fs__echo2"))
		if got := listed(a); got != "fs__read fs__echo2" {
			t.Errorf("there is %s", got)
		}
	})
}

// A run that accepts changes approves no new tool for a run that holds them. The tool is live in the first run, and
// held in the second.
func TestANewToolUnderAcceptIsNotApproved(t *testing.T) {
	t.Parallel()
	eachLog(t, func(t *testing.T, open opener) {
		s, path := newShelf(t, "fs", row("echo", "Echoes.")), logPath(t)
		attach(t, configs(s), &ledger.Options{Log: open(t, path)}).Close()
		s.fill(t, row("echo", "Echoes."), row("read", "Reads."))
		a := attach(t, configs(s), &ledger.Options{Log: open(t, path)})
		if got := listed(a); got != "fs__echo fs__read" {
			t.Errorf("there is %s", got)
		}
		if got := a.Changed(); len(got) != 1 || got[0].Tool != "read" {
			t.Errorf("changed are %+v", got)
		}
		a.Close()
		a = attach(t, configs(s), &ledger.Options{Log: open(t, path), Policy: config.HoldChanges})
		if got := listed(a); got != "fs__echo" {
			t.Errorf("under hold there is %s", got)
		}
	})
}

// Under deny, no new tool becomes live in a run, even if a person accepts it meanwhile.
func TestANewToolUnderDeny(t *testing.T) {
	t.Parallel()
	eachLog(t, func(t *testing.T, open opener) {
		s, path := newShelf(t, "fs", row("echo", "Echoes.")), logPath(t)
		log := open(t, path)
		a := attach(t, configs(s), &ledger.Options{Log: log, Policy: config.DenyChanges, Poll: time.Millisecond})
		s.fill(t, row("echo", "Echoes."), row("read", "Reads."))
		s.Send("change")
		waitUntil(t, a, "held", func() bool { return len(a.Changed()) == 1 })
		if err := a.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := ledger.Approve(t.Context(), log, "me", ledger.Changed(read(t, log))...); err != nil {
			t.Fatal(err)
		}
		ledger.PollNow(a)
		if got := listed(a); got != "fs__echo" {
			t.Errorf("there is %s", got)
		}
		a.Close()
		if got := listed(attach(t, configs(s), &ledger.Options{Log: log, Policy: config.DenyChanges})); got != "fs__echo fs__read" {
			t.Errorf("in the next run there is %s", got)
		}
	})
}

// A log that was removed while the leases of its runs still exist begins with a Reset entry. No tool counts as
// approved, in that run and in later ones, until a person accepts it.
func TestARemovedLogResetsNoApprovals(t *testing.T) {
	t.Parallel()
	s, other, path := newShelf(t, "fs", row("echo", "Echoes.")), newShelf(t, "web", row("read", "Reads.")), logPath(t)
	attach(t, configs(s), &ledger.Options{Log: open(t, path), Policy: config.HoldChanges}).Close()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	log := open(t, path)
	if !log.Removed() || read(t, log)[0].Op != ledger.Reset {
		t.Fatalf("the log begins with %+v", read(t, log))
	}
	for range 2 {
		a := attach(t, configs(s), &ledger.Options{Log: log, Policy: config.HoldChanges})
		if got := listed(a); got != "" {
			t.Errorf("there is %s", got)
		}
		a.Close()
		log = open(t, path)
	}
	if log.Removed() {
		t.Error("it was removed once")
	}
	a := attach(t, configs(s, other), &ledger.Options{Log: log, Policy: config.HoldChanges, Poll: time.Millisecond})
	if got := listed(a); got != "" {
		t.Errorf("there is %s", got)
	}
	if err := a.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := ledger.Approve(t.Context(), log, "me", ledger.Changed(read(t, log))...); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, a, "accepted", func() bool { return listed(a) == "fs__echo web__read" })
	r, err := log.Verify(t.Context())
	if err != nil || len(r.Damage) != 1 || r.Damage[0].Kind != ledger.Missing {
		t.Errorf("%+v, %v", r, err)
	}
}

// A log that is removed while it is in use goes on with the same entry.
func TestALogThatIsRemovedInMidRun(t *testing.T) {
	t.Parallel()
	s, path := newShelf(t, "fs", row("echo", "Echoes.")), logPath(t)
	log := open(t, path)
	a := attach(t, configs(s), &ledger.Options{Log: log})
	if err := a.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	s.fill(t, row("echo", "Echoes otherwise."))
	s.Send("change")
	waitUntil(t, a, "changed", func() bool { return len(a.Changed()) == 1 })
	if err := a.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := read(t, log); len(got) < 2 || got[0].Op != ledger.Reset || got[1].Tool != "echo" {
		t.Errorf("the log has %+v", got)
	}
}
