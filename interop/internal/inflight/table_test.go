package inflight_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/interop/internal/conn"
	"github.com/indusagi/indus/interop/internal/inflight"
	"github.com/indusagi/indus/interop/internal/lane"
	"github.com/indusagi/indus/toolbox"
)

// client is a client in a session. It receives everything except logs, and messages outside of requests if it stays.
type client struct {
	session string
	stays   bool
}

func (c *client) SessionID() string {
	if c == nil {
		return ""
	}
	return c.session
}

func (c *client) Receives(method string, duringRequest bool) bool {
	return c != nil && (duringRequest || c.stays) && method != protocol.NoteMessage
}

type (
	table   = inflight.Table[*client]
	request = inflight.Request[*client]
)

func add(t *table, c *client, caller toolbox.Principal, subject string) uint64 {
	return t.Add(&request{Client: c, Caller: caller, Subject: subjectOf(subject)})
}

// subjectOf returns the kind of a call of a tool. "" is a request whose kind is not recorded.
func subjectOf(tool string) lane.Subject {
	if tool == "" {
		return lane.Subject{}
	}
	return lane.SubjectOf(protocol.MethodToolsCall, tool)
}

// attribution is the result of Attribute. It is complete once done is closed.
type attribution struct {
	request *request
	session *client
	guessed bool
	err     error
	done    chan struct{}
}

// attribute starts Attribute, and returns when it waits or has ended.
func attribute(ctx context.Context, t *table, h *lane.Habits) *attribution {
	a := &attribution{done: make(chan struct{})}
	go func() {
		a.request, a.session, a.guessed, a.err = t.Attribute(ctx, protocol.MethodRoots, h)
		close(a.done)
	}()
	synctest.Wait()
	return a
}

func (a *attribution) isDone() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

func TestAQuestionBelongsToTheOnlyRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var requests table
		number := add(&requests, &client{session: "a", stays: true}, "ann", "")
		if got := attribute(t.Context(), &requests, nil); got.request != requests.Find(number) || got.guessed || got.err != nil {
			t.Errorf("%+v", got)
		}
	})
}

func TestAQuestionWaitsForTheFirstRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var requests table
		got := attribute(t.Context(), &requests, nil)
		if got.isDone() {
			t.Fatal("it did not wait")
		}
		number := add(&requests, nil, "", "")
		if <-got.done; got.request != requests.Find(number) {
			t.Errorf("%+v", got)
		}
		var unused table
		begun := time.Now()
		late := attribute(t.Context(), &unused, nil)
		if <-late.done; late.request != nil || late.session != nil || late.err != nil || time.Since(begun) != 5*time.Second {
			t.Errorf("%+v after %v", late, time.Since(begun))
		}
	})
}

func TestAQuestionWaitsUntilOneClientIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var requests table
		var habits lane.Habits
		quiet := add(&requests, nil, "ann", "tools/call quiet")
		asking := add(&requests, nil, "bob", "tools/call asking")
		got := attribute(t.Context(), &requests, &habits)
		add(&requests, nil, "cid", "tools/call later") // it began after the question
		requests.Remove(quiet, true)
		if <-got.done; got.request != requests.Find(asking) || got.guessed || got.err != nil {
			t.Errorf("%+v", got)
		}
		for subject, want := range map[string]lane.Sharing{
			"tools/call asking": lane.ExclusiveUse, "tools/call quiet": lane.TrialUse, "tools/call later": lane.TrialUse,
		} {
			if use, _ := habits.Admit(t.Context(), subjectOf(subject)); use != want {
				t.Errorf("%s is used as %v, not %v", subject, use, want)
			}
		}
	})
}

func TestAQuestionOfSeveralClientsIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var requests table
		add(&requests, &client{session: "a"}, "ann", "")
		add(&requests, &client{session: "b"}, "ann", "")
		ctx, cancel := context.WithCancel(t.Context())
		canceled := attribute(ctx, &requests, nil)
		cancel()
		if <-canceled.done; !errors.Is(canceled.err, context.Canceled) {
			t.Error(canceled.err)
		}
		got := attribute(t.Context(), &requests, nil)
		if <-got.done; got.err == nil || !strings.Contains(got.err.Error(), "several requests are under way") {
			t.Errorf("%+v", got)
		}
	})
}

// A request that was cancelled may still run at the server, and ask.
func TestUnrepliedRequestsMayAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var requests table
		cut := add(&requests, &client{session: "a"}, "ann", "")
		requests.Remove(cut, false)
		running := add(&requests, &client{session: "b"}, "ann", "")
		if got := attribute(t.Context(), &requests, nil); got.isDone() || !requests.HasUnreplied() {
			t.Errorf("the question was given to a request while another may have asked: %+v", got)
		}
		time.Sleep(time.Minute)
		if got := attribute(t.Context(), &requests, nil); !got.isDone() || got.request != requests.Find(running) {
			t.Errorf("the unreplied request was not forgotten: %+v", got)
		}
	})
}

func TestRequestsOfOneSessionShareQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, stays := range []bool{false, true} {
			var requests table
			first, second := &client{"a", stays}, &client{"a", stays}
			add(&requests, first, "ann", "")
			number := add(&requests, second, "ann", "")
			got := attribute(t.Context(), &requests, nil)
			switch {
			case !got.isDone() || got.err != nil:
				t.Errorf("stays=%v: %+v", stays, got)
			case stays && got.session != second:
				t.Errorf("the session is not asked, which outlives its requests: %+v", got)
			case !stays && (got.request != requests.Find(number) || !got.guessed):
				t.Errorf("the newest request is not asked: %+v", got)
			}
		}
	})
}

func TestNotificationTargets(t *testing.T) {
	a, b, other := &client{"a", true}, &client{"", true}, &client{"b", true}
	for _, c := range []struct {
		name    string
		prepare func(*table)
		method  string
		target  uint64
		session *client
	}{
		{"no request", func(*table) {}, "x", 0, nil},
		{"one", func(r *table) { add(r, a, "ann", "") }, "x", 1, a},
		{"unwanted", func(r *table) { add(r, a, "ann", "") }, protocol.NoteMessage, 0, nil},
		{"one session", func(r *table) { add(r, a, "ann", ""); add(r, a, "ann", "") }, "x", 2, a},
		{"two sessions", func(r *table) { add(r, a, "ann", ""); add(r, other, "ann", "") }, "x", 0, nil},
		{"no session", func(r *table) { add(r, b, "ann", ""); add(r, b, "ann", "") }, "x", 0, nil},
		{"two, one is over", func(r *table) { add(r, a, "ann", ""); r.Remove(1, true); add(r, other, "ann", "") }, "x", 2, nil},
		{"two callers", func(r *table) { add(r, a, "ann", ""); add(r, nil, "bob", "") }, "x", 0, nil},
		{"another caller is served", func(r *table) { add(r, a, "ann", ""); r.AddCaller("bob") }, "x", 0, nil},
		{"a request for all", func(r *table) { add(r, a, "ann", ""); add(r, nil, "", "") }, "x", 1, a},
		{"expected", func(r *table) { r.Expect("ann", a) }, "x", 0, a},
	} {
		var requests table
		c.prepare(&requests)
		if got := requests.NotificationTarget(c.method); got != c.target {
			t.Errorf("%s: target %d, not %d", c.name, got, c.target)
		}
		if got := requests.SessionClient(c.method); got != c.session {
			t.Errorf("%s: session client %v, not %v", c.name, got, c.session)
		}
	}
}

func TestQuestionsPauseDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var requests table
		ctx, limits := conn.WithCallDeadlines(t.Context(), time.Second, time.Hour)
		defer limits.Stop()
		requests.Add(&request{Ctx: ctx, Limits: limits})
		requests.Add(&request{Ctx: t.Context()}) // without deadlines
		release := requests.PauseDeadlines()
		if !requests.AwaitsAnswer() {
			t.Error("no question is counted")
		}
		time.Sleep(time.Minute)
		if ctx.Err() != nil {
			t.Fatal("the request ended while the server waited for an answer")
		}
		release()
		time.Sleep(2 * time.Second)
		if ctx.Err() == nil || requests.AwaitsAnswer() {
			t.Error("the deadline did not go on after the answer")
		}
	})
}
