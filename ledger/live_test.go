package ledger_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/ledger"
)

// A server is killed and comes back, and changes its tools. Other servers are not affected, and the log records the
// events.
func TestTheLogTellsTheStory(t *testing.T) {
	t.Parallel()
	eachLog(t, func(t *testing.T, open opener) {
		fs, web := newShelf(t, "fs", row("echo", "Echoes."), row("read", "Reads.")), newShelf(t, "web", row("echo", ""))
		log := open(t, logPath(t))
		a := attach(t, configs(fs, web), &ledger.Options{Mount: atOnce(), Log: log})
		first := a.Ledger()

		fs.fill(t, row("echo", "Echoes well."), rowWith("read", "Reads.", "path"), row("write", "Writes."))
		fs.Send("change")
		waitUntil(t, a, "changed", isLive(a, "fs__write"))
		now := a.Ledger().Snapshot()
		if diff := cmp.Diff([]string{"fs__echo", "web__echo", "fs__read", "fs__write"}, now.Names()); diff != "" {
			t.Errorf("a key that is enrolled again keeps its place:\n%s", diff)
		}
		fs.fill(t, row("echo", "Echoes well."))
		fs.Send("change")
		waitUntil(t, a, "changed again", isNot(isLive(a, "fs__write")))

		fs.kill(t, 1)
		fs.WaitN("start ", 2)
		waitUntil(t, a, "back", func() bool {
			return isLive(a, "fs__echo")() && strings.Contains(strings.Join(recordedWords(t, a, log), "\n"), ": ready")
		})
		web.Wait("start ")
		if got := echo(t, a, "web__echo", "untouched"); got != "untouched" || len(web.Events("start ")) != 1 {
			t.Errorf("web says %q", got)
		}
		if got := echo(t, a, "fs__echo", "again"); got != "again" {
			t.Errorf("fs says %q", got)
		}
		if len(first.Snapshot().Live) != 3 {
			t.Error("the first ledger was changed")
		}
		a.Close()
		got := slices.DeleteFunc(recordedWords(t, a, log), func(s string) bool { return strings.Contains(s, "web") })
		want := []string{
			"begin", "enroll fs echo", "enroll fs read",
			"retire fs read: replaced", "enroll fs echo changed", "enroll fs read changed", "enroll fs write changed",
			"retire fs read: unlisted", "retire fs write: unlisted",
			"health fs: lost: transport", "retire fs echo: lost", "enroll fs echo changed", "health fs: ready",
			"end",
		}
		loss := func(s string) bool { return strings.HasPrefix(s, "health") }
		if diff := cmp.Diff(slices.DeleteFunc(slices.Clone(want), loss), slices.DeleteFunc(slices.Clone(got), loss)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if n := len(slices.DeleteFunc(got, func(s string) bool { return !loss(s) })); n != 2 {
			t.Errorf("%d words of its health in %v", n, got)
		}
		wantWhole(t, log, len(read(t, log)))
		wantReplayed(t, a, log)
	})
}

// wantReplayed checks that the snapshot of the log equals the snapshot of the ledger in memory.
func wantReplayed(t *testing.T, a *ledger.Attachment, log ledger.Log) {
	t.Helper()
	for _, r := range ledger.Runs(read(t, log)) {
		if r.ID == a.Run {
			if diff := cmp.Diff(a.Ledger().Snapshot().Names(), r.Live().Names()); diff != "" {
				t.Errorf("(-memory +log):\n%s", diff)
			}
		}
	}
}

// The tools of a lost server stay live during its grace, and a call waits for the server.
func TestLossWithinGrace(t *testing.T) {
	t.Parallel()
	fs := newShelf(t, "fs", row("echo", ""))
	log := open(t, logPath(t))
	mount := atOnce()
	mount.Grace = giveUp
	a := attach(t, configs(fs), &ledger.Options{Mount: mount, Log: log})
	fs.kill(t, 1)
	fs.WaitN("start ", 2)
	if got := echo(t, a, "fs__echo", "here"); got != "here" && !strings.Contains(got, "lost") && !strings.Contains(got, "closed") {
		t.Errorf("fs says %q", got)
	}
	waitUntil(t, a, "back", func() bool { return strings.Contains(strings.Join(recordedWords(t, a, log), "\n"), ": ready") })
	for _, s := range recordedWords(t, a, log) {
		if strings.HasPrefix(s, "retire") {
			t.Error(s)
		}
	}
}

// The last live tools are listed while their server starts, but are not entries of this run.
func TestWarmStart(t *testing.T) {
	t.Parallel()
	eachLog(t, func(t *testing.T, open opener) {
		fs := newShelf(t, "fs", row("echo", "Echoes."), row("read", "Reads."))
		path := logPath(t)
		attach(t, configs(fs), &ledger.Options{Log: open(t, path)}).Close()
		known := ledger.StateOf(read(t, open(t, path))).Known(configs(fs))
		if got := known("fs"); len(got) != 2 || string(got[0].JSON) != row("echo", "Echoes.") || got[0].Format == "" {
			t.Fatalf("known are %+v", got)
		}
		slow := config.Server{ID: "fs", Transport: config.Stdio{Command: fs.Path, Args: append([]string{"-hang", "server/discover"}, fs.Args...)}}
		if got := ledger.StateOf(read(t, open(t, path))).Known([]config.Server{slow})("fs"); got != nil {
			t.Errorf("another command knows %v", got)
		}
		log := open(t, path)
		a := attach(t, configs(fs), &ledger.Options{Log: log, Warm: true, Mount: &interop.MountOptions{
			FleetOptions: interop.FleetOptions{Endpoint: func(config.Server) *interop.EndpointOptions { return &interop.EndpointOptions{} }},
			Wait:         -1,
		}})
		if got := listed(a); got != "fs__echo fs__read" {
			t.Errorf("at once there is %q", got)
		}
		if got := echo(t, a, "fs__echo", "soon"); got != "soon" {
			t.Errorf("fs says %q", got)
		}
		waitUntil(t, a, "enrolled", isLive(a, "fs__echo"))
	})
}

// The tools of a lost server are still known. Tools that a server no longer lists are not.
func TestKnownIsWhatWasListedLast(t *testing.T) {
	t.Parallel()
	eachLog(t, func(t *testing.T, open opener) {
		server := config.Server{ID: "fs", Transport: config.Stdio{Command: "x"}}
		sum := ledger.Fingerprint(server)
		f := open(t, logPath(t))
		e := func(second int, tool string) ledger.Entry {
			e := enrolled("A", second, capability("fs", tool, "", anyObject))
			e.Config = sum
			return e
		}
		lost, gone := retired(2, e(1, "a")), retired(2, e(1, "b"))
		lost.Note, gone.Note = "lost", "unlisted"
		appendTo(t, f, e(1, "a"), e(1, "b"), lost, gone, ledger.Entry{Op: ledger.End, Run: "A", At: start.Add(time.Minute)},
			ledger.Entry{Op: ledger.Health, Run: "B", Server: "fs", Config: sum, Note: "lost: transport"})
		got := ledger.StateOf(read(t, f)).Known([]config.Server{server})("fs")
		if len(got) != 1 || !strings.Contains(string(got[0].JSON), `"name":"a"`) {
			t.Errorf("known are %v", got)
		}
	})
}

// A fingerprint contains no secrets.
func TestFingerprintHasNoSecret(t *testing.T) {
	with := func(value string) config.Server {
		return config.Server{ID: "a", Transport: config.Stdio{Command: "c", Env: []config.Pair{{Name: "TOKEN", Value: config.NewSecret(value)}}}}
	}
	if ledger.Fingerprint(with("one")) != ledger.Fingerprint(with("two")) {
		t.Error("the value of a variable is in it")
	}
	seen := map[string]bool{}
	for _, s := range []config.Server{
		{ID: "a"}, {ID: "b"}, with("x"), {ID: "a", Transport: config.Stdio{Command: "c"}}, {ID: "a", Transport: config.Stdio{Command: "c", Args: []string{"TOKEN"}}},
		{ID: "a", Transport: config.HTTP{URL: "http://x"}}, {ID: "a", Transport: config.SSE{URL: "http://x"}},
	} {
		seen[ledger.Fingerprint(s)] = true
	}
	if len(seen) != 7 {
		t.Errorf("%d fingerprints of 7", len(seen))
	}
}
