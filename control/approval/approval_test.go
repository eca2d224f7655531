package approval_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/control/approval"
)

// clock is a clock that a test sets.
type clock struct{ ms atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.ms.Store(time.Date(2026, 7, 28, 15, 0, 0, 0, time.UTC).UnixMilli())
	return c
}

func (c *clock) now() time.Time          { return time.UnixMilli(c.ms.Load()).UTC() }
func (c *clock) advance(d time.Duration) { c.ms.Add(d.Milliseconds()) }

// desk is a book with its file and clock.
type desk struct {
	*approval.Book
	*clock
	t    *testing.T
	path string
}

func newDesk(t *testing.T, o approval.Options) *desk {
	t.Helper()
	d := &desk{t: t, clock: newClock(), path: filepath.Join(t.TempDir(), "state", "approvals.json")}
	o.Now = d.now
	d.reopen(o)
	return d
}

func (d *desk) reopen(o approval.Options) {
	d.t.Helper()
	o.Now = d.now
	book, err := approval.Open(d.path, &o)
	if err != nil {
		d.t.Fatal(err)
	}
	d.Book = book
}

// callOf returns the item of a call with these arguments.
func callOf(arguments string) approval.Item {
	return approval.Item{
		Subject: approval.Subject{
			Principal: "user:alice", Client: "claude-code", View: "@review", Server: "github", Tool: "merge",
			Arguments: sha256.Sum256([]byte(arguments)), Definition: sha256.Sum256([]byte("definition")),
		},
		Way: approval.Either, Shown: json.RawMessage(arguments), Rule: "policy.cedar:3",
	}
}

func (d *desk) require(i approval.Item) (approval.Item, approval.Outcome) {
	d.t.Helper()
	item, outcome, err := d.Require(d.t.Context(), i, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	return item, outcome
}

// wants requires an item and checks the outcome.
func (d *desk) wants(i approval.Item, want approval.Outcome) approval.Item {
	d.t.Helper()
	item, got := d.require(i)
	if got != want {
		d.t.Fatalf("the outcome is %v, not %v: %+v", got, want, item)
	}
	return item
}

func (d *desk) decide(id string, by approval.Decision) approval.Item {
	d.t.Helper()
	item, err := d.Decide(d.t.Context(), id, by)
	if err != nil {
		d.t.Fatal(err)
	}
	return item
}

var allowed = approval.Decision{Allow: true, Channel: approval.ByOperator}

// A grant is good for the call that it was given for. A call that differs in one part of its subject waits for an
// approval of its own, and the grant stays for the right call.
func TestAGrantIsBoundToItsCall(t *testing.T) {
	t.Parallel()
	arguments := `{"pull":42}`
	for name, alter := range map[string]func(*approval.Item){
		"one byte of the arguments": func(i *approval.Item) { i.Arguments = sha256.Sum256([]byte(`{"pull":43}`)) },
		"white space":               func(i *approval.Item) { i.Arguments = sha256.Sum256([]byte(`{"pull": 42}`)) },
		"caller":                    func(i *approval.Item) { i.Principal = "user:alicia" },
		"local caller":              func(i *approval.Item) { i.Principal = "" },
		"client":                    func(i *approval.Item) { i.Client = "claude-code " },
		"view":                      func(i *approval.Item) { i.View = "" },
		"server":                    func(i *approval.Item) { i.Server = "gitlab" },
		"tool":                      func(i *approval.Item) { i.Tool = "Merge" },
		"definition":                func(i *approval.Item) { i.Definition[31] ^= 1 },
		"way":                       func(i *approval.Item) { i.Way = approval.Other },
		"shifted texts":             func(i *approval.Item) { i.Server, i.Tool = "githubm", "erge" },
		"invalid UTF-8":             func(i *approval.Item) { i.Client = "claude-code\xff" },
		"a long text":               func(i *approval.Item) { i.Client = strings.Repeat("claude-code", 100) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, approval.Options{})
			first := d.wants(callOf(arguments), approval.Pending)
			d.decide(first.ID, allowed)
			other := callOf(arguments)
			alter(&other)
			second := d.wants(other, approval.Pending)
			if second.ID == first.ID {
				t.Fatalf("both calls have approval %s", first.ID)
			}
			if again := d.wants(other, approval.Pending); again.ID != second.ID {
				t.Errorf("the second call has approvals %s and %s", second.ID, again.ID)
			}
			d.decide(second.ID, allowed)
			d.wants(other, approval.Granted)
			d.wants(callOf(arguments), approval.Granted)
		})
	}
}

// Two names that differ behind the length that is stored are two callers.
func TestLongNamesStayDifferent(t *testing.T) {
	t.Parallel()
	d := newDesk(t, approval.Options{})
	one, other := callOf("{}"), callOf("{}")
	one.Principal, other.Principal = strings.Repeat("x", 5000)+"1", strings.Repeat("x", 5000)+"2"
	one.Way = approval.Caller
	item := d.wants(one, approval.Pending)
	if len(item.Principal) > 512 {
		t.Errorf("%d bytes of a name are stored", len(item.Principal))
	}
	_, err := d.Decide(t.Context(), item.ID,
		approval.Decision{Allow: true, By: other.Principal, Channel: approval.ByCaller})
	if !errors.Is(err, approval.ErrRequester) {
		t.Error(err)
	}
	d.decide(item.ID, approval.Decision{Allow: true, By: one.Principal, Channel: approval.ByCaller})
	list, err := d.List(t.Context(), &approval.Filter{All: true, Principal: &one.Principal})
	if err != nil || len(list) != 1 {
		t.Error(list, err)
	}
	d.wants(other, approval.Pending)
	d.wants(one, approval.Granted)
}

func TestAGrantIsUsedOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t, approval.Options{})
	item := d.wants(callOf("{}"), approval.Pending)
	d.decide(item.ID, approval.Decision{Allow: true, By: "user:bob", Reason: "fine", Channel: approval.ByPage})
	d.advance(time.Second)
	spent := d.wants(callOf("{}"), approval.Granted)
	if spent.ID != item.ID || spent.State != approval.Spent || !spent.Used.Equal(d.now()) || spent.By != "user:bob" {
		t.Errorf("%+v", spent)
	}
	if again := d.wants(callOf("{}"), approval.Pending); again.ID == item.ID {
		t.Error("a spent approval waits again")
	}
}

func TestWaitsAndGrantsExpire(t *testing.T) {
	t.Parallel()
	d := newDesk(t, approval.Options{Expire: time.Minute})
	first := d.wants(callOf("{}"), approval.Pending)
	d.advance(time.Minute - time.Millisecond)
	if again := d.wants(callOf("{}"), approval.Pending); again.ID != first.ID {
		t.Error("it expired early")
	}
	d.advance(time.Millisecond)
	if _, err := d.Decide(t.Context(), first.ID, allowed); !errors.Is(err, approval.ErrExpired) {
		t.Error(err)
	}
	second := d.wants(callOf("{}"), approval.Pending)
	if second.ID == first.ID {
		t.Error("an expired approval waits again")
	}
	d.reopen(approval.Options{Expire: time.Hour}) // the decision comes from a process with other options
	d.advance(50 * time.Second)
	if granted := d.decide(second.ID, allowed); !granted.Expires.Equal(d.now().Add(time.Minute)) {
		t.Errorf("the grant expires at %v", granted.Expires)
	}
	d.advance(time.Minute)
	if late := d.wants(callOf("{}"), approval.Pending); late.ID == second.ID {
		t.Error("a grant was used late")
	}
	if _, err := d.Decide(t.Context(), second.ID, allowed); !errors.Is(err, approval.ErrDecided) {
		t.Error(err)
	}
}

// A clock that is set back gives no second life to an approval that a step found expired.
func TestAClockThatIsSetBack(t *testing.T) {
	t.Parallel()
	d := newDesk(t, approval.Options{Expire: time.Minute})
	item := d.wants(callOf("{}"), approval.Pending)
	d.decide(item.ID, allowed)
	d.advance(2 * time.Minute)
	d.wants(callOf(`{"other":1}`), approval.Pending) // a step that stores the expiry
	d.advance(-2 * time.Minute)
	d.wants(callOf("{}"), approval.Pending)
}

func TestADenialHolds(t *testing.T) {
	t.Parallel()
	d := newDesk(t, approval.Options{Expire: time.Minute})
	item := d.wants(callOf("{}"), approval.Pending)
	d.decide(item.ID, approval.Decision{By: "user:bob", Reason: "not on a Friday", Channel: approval.ByPage})
	denied := d.wants(callOf("{}"), approval.Denied)
	if want := "denied by user:bob at "; !strings.HasPrefix(denied.Verdict(), want) ||
		!strings.HasSuffix(denied.Verdict(), ": not on a Friday") {
		t.Error(denied.Verdict())
	}
	d.advance(time.Minute)
	d.wants(callOf("{}"), approval.Pending)
}

func TestWhoMayDecide(t *testing.T) {
	t.Parallel()
	const own, other = "user:alice", "user:bob"
	type decision = approval.Decision
	for _, c := range []struct {
		way  approval.Way
		by   decision
		want error
	}{
		{approval.Caller, decision{Allow: true, By: own, Channel: approval.ByCaller}, nil},
		{approval.Caller, decision{Allow: true, By: other, Channel: approval.ByCaller}, approval.ErrRequester},
		{approval.Caller, decision{Allow: true, By: other, Channel: approval.ByPage}, approval.ErrNotCaller},
		{approval.Caller, decision{By: other, Channel: approval.ByPage}, nil},
		{approval.Caller, decision{Allow: true, By: own, Channel: approval.ByPage}, nil},
		{approval.Other, decision{Allow: true, By: own, Channel: approval.ByCaller}, approval.ErrRequester},
		{approval.Other, decision{By: own, Channel: approval.ByCaller}, approval.ErrRequester},
		{approval.Other, decision{Allow: true, By: own, Channel: approval.ByPage}, approval.ErrRequester},
		{approval.Other, decision{Allow: true, By: own, Channel: approval.ByWebhook}, approval.ErrRequester},
		{approval.Other, decision{Allow: true, Channel: approval.ByPage}, approval.ErrRequester},
		{approval.Other, decision{Allow: true, By: other, Channel: approval.ByPage}, nil},
		{approval.Other, decision{Allow: true, Channel: approval.ByOperator}, nil},
		{approval.Either, decision{Allow: true, By: own, Channel: approval.ByCaller}, nil},
		{approval.Either, decision{Allow: true, By: other, Channel: approval.ByWebhook}, nil},
		{approval.Either, decision{Allow: true, By: other, Channel: approval.ByCaller}, approval.ErrRequester},
	} {
		d := newDesk(t, approval.Options{})
		call := callOf("{}")
		call.Way = c.way
		item := d.wants(call, approval.Pending)
		got, err := d.Decide(t.Context(), strings.ToLower(item.ID), c.by)
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s, %+v: %v, not %v", c.way, c.by, err, c.want)
		}
		if (got.State == approval.Waiting) != (c.want != nil) {
			t.Errorf("%s, %+v: it is %s", c.way, c.by, got.State)
		}
	}
	d := newDesk(t, approval.Options{})
	item := d.wants(callOf("{}"), approval.Pending)
	if _, err := d.Decide(t.Context(), item.ID, decision{Allow: true, Channel: "telepathy"}); err == nil {
		t.Error("an unknown channel decided")
	}
	if _, err := d.Decide(t.Context(), "ZZZZ", allowed); !errors.Is(err, approval.ErrUnknown) {
		t.Error(err)
	}
	d.decide(item.ID, allowed)
	if got, err := d.Decide(t.Context(), item.ID, decision{Channel: approval.ByOperator}); !errors.Is(err,
		approval.ErrDecided) || got.State != approval.Allowed {
		t.Error(got.State, err)
	}
	call := callOf("{}")
	call.Way = "anyone"
	if _, _, err := d.Require(t.Context(), call, nil); err == nil {
		t.Error("an unknown way waits")
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	d := newDesk(t, approval.Options{Max: 5, MaxPerPrincipal: 3})
	of := func(principal string, n int) (approval.Item, error) {
		call := callOf(fmt.Sprint(n))
		call.Principal = principal
		item, _, err := d.Require(t.Context(), call, nil)
		return item, err
	}
	var first approval.Item
	for n := range 3 {
		item, err := of("a", n)
		if err != nil {
			t.Fatal(err)
		}
		first = item
	}
	_, err := of("a", 3)
	if limit, ok := errors.AsType[*approval.LimitError](err); !ok || limit.All || limit.Limit != 3 ||
		limit.Principal != "a" {
		t.Error(err)
	}
	if _, err := of("a", 0); err != nil {
		t.Error("a call that waits already:", err)
	}
	for n := range 2 {
		if _, err := of("b", n); err != nil {
			t.Error(err)
		}
	}
	_, err = of("b", 2)
	if limit, ok := errors.AsType[*approval.LimitError](err); !ok || !limit.All || limit.Limit != 5 {
		t.Error(err)
	}
	d.decide(first.ID, allowed) // an unspent grant is open
	if _, err := of("a", 3); err == nil {
		t.Error("an unspent grant made room")
	}
	if _, err := of("a", 2); err != nil { // spends it
		t.Error(err)
	}
	if _, err := of("a", 3); err != nil {
		t.Error(err)
	}
	d.advance(time.Hour)
	if _, err := of("b", 7); err != nil {
		t.Error("expired items count:", err)
	}
}

// The texts of an item may be expensive. They are asked for once, and not if the item cannot be stored.
func TestAnItemIsDescribedWhenItIsStored(t *testing.T) {
	t.Parallel()
	d := newDesk(t, approval.Options{Max: 1})
	described := 0
	require := func(arguments string) (approval.Item, approval.Outcome, error) {
		return d.Require(t.Context(), callOf(arguments), func(i *approval.Item) {
			described++
			i.Changed = fmt.Sprint("change ", described)
		})
	}
	first, _, err := require("1")
	if err != nil || first.Changed != "change 1" {
		t.Errorf("%+v, %v", first, err)
	}
	if again, _, err := require("1"); err != nil || again.ID != first.ID || again.Changed != "change 1" {
		t.Errorf("%+v, %v", again, err)
	}
	if _, _, err := require("2"); err == nil {
		t.Error("a second item is open")
	}
	d.decide(first.ID, allowed)
	if used, outcome, err := require("1"); err != nil || outcome != approval.Granted || used.Changed != "change 1" {
		t.Errorf("%+v, %v, %v", used, outcome, err)
	}
	if described != 1 {
		t.Errorf("the item was described %d times", described)
	}
	if next, _, err := require("1"); err != nil || next.ID == first.ID || next.Changed != "change 2" {
		t.Errorf("%+v, %v", next, err)
	}
}

// By default, 100 items of one caller may be open.
func TestDefaultLimitOfACaller(t *testing.T) {
	t.Parallel()
	d := newDesk(t, approval.Options{Max: 150})
	ask := func(principal string, n int) error {
		call := callOf(fmt.Sprint(n))
		call.Principal = principal
		_, _, err := d.Require(t.Context(), call, nil)
		return err
	}
	for n := range 150 {
		if err := ask(fmt.Sprint(n/100), n); err != nil {
			t.Fatal(err)
		}
	}
	if limit, ok := errors.AsType[*approval.LimitError](ask("0", 100)); !ok || limit.Limit != 100 {
		t.Error("101 items of one caller are open")
	}
	if limit, ok := errors.AsType[*approval.LimitError](ask("another", 0)); !ok || !limit.All || limit.Limit != 150 {
		t.Error("151 items are open")
	}
}

// Two identical retries at once get one grant, also if they come to several books of one file.
func TestOneOfManyGetsTheGrant(t *testing.T) {
	t.Parallel()
	d := newDesk(t, approval.Options{})
	books := []*approval.Book{d.Book}
	for range 3 {
		d.reopen(approval.Options{})
		books = append(books, d.Book)
	}
	for round := range 10 {
		item := d.wants(callOf("{}"), approval.Pending)
		d.decide(item.ID, allowed)
		var granted atomic.Int32
		var all sync.WaitGroup
		for n := range 16 {
			all.Go(func() {
				got, outcome, err := books[n%len(books)].Require(t.Context(), callOf("{}"), nil)
				switch {
				case err != nil:
					t.Error(err)
				case outcome == approval.Granted && got.ID == item.ID:
					granted.Add(1)
				case outcome != approval.Pending:
					t.Errorf("%v of %s", outcome, got.ID)
				}
			})
		}
		all.Wait()
		if granted.Load() != 1 {
			t.Fatalf("round %d: %d were granted", round, granted.Load())
		}
		waiting, err := d.List(t.Context(), nil)
		if err != nil || len(waiting) != 1 {
			t.Fatalf("round %d: %d wait: %v", round, len(waiting), err)
		}
		d.advance(time.Hour)
	}
}

func TestItemsSurviveARestart(t *testing.T) {
	t.Parallel()
	d := newDesk(t, approval.Options{})
	waiting := d.wants(callOf(`{"n":1}`), approval.Pending)
	granted := d.wants(callOf(`{"n":2}`), approval.Pending)
	d.decide(granted.ID, allowed)
	before, err := d.List(t.Context(), &approval.Filter{All: true})
	if err != nil {
		t.Fatal(err)
	}
	d.reopen(approval.Options{})
	after, err := d.List(t.Context(), &approval.Filter{All: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
	if again := d.wants(callOf(`{"n":1}`), approval.Pending); again.ID != waiting.ID {
		t.Error("another approval waits")
	}
	d.wants(callOf(`{"n":2}`), approval.Granted)
	info, err := os.Stat(d.path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
}

// A broken file grants nothing and is not overwritten.
func TestABrokenFile(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{}\n", `{"approvals":2}` + "\n", `{"approvals":1}` + "\n{\"id\":1}\n"} {
		d := newDesk(t, approval.Options{})
		item := d.wants(callOf("{}"), approval.Pending)
		if err := os.WriteFile(d.path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := d.Require(t.Context(), callOf("{}"), nil); err == nil {
			t.Errorf("%q: it waits", text)
		}
		if _, err := d.Decide(t.Context(), item.ID, allowed); err == nil {
			t.Errorf("%q: it is decided", text)
		}
		if _, err := approval.Open(d.path, nil); err == nil || !strings.Contains(err.Error(), d.path) {
			t.Errorf("%q opens: %v", text, err)
		}
		if left, err := os.ReadFile(d.path); err != nil || string(left) != text {
			t.Errorf("%q became %q: %v", text, left, err)
		}
	}
}

// Past items are kept for a week: the last 1,000, and 2 MiB of them.
func TestPastItemsAreBounded(t *testing.T) {
	t.Parallel()
	d := newDesk(t, approval.Options{})
	count := func() int {
		all, err := d.List(t.Context(), &approval.Filter{All: true})
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	item := d.wants(callOf(fmt.Sprintf(`{"text":%q}`, strings.Repeat("a word ", 1150))), approval.Pending)
	d.decide(item.ID, approval.Decision{Channel: approval.ByOperator})
	text, err := os.ReadFile(d.path)
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(text), "\n")
	for n := range 280 { // as if each had been asked
		text = append(text, strings.Replace(line, item.ID, fmt.Sprint(1000+n), 1)...)
	}
	if err := os.WriteFile(d.path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	d.wants(callOf("[]"), approval.Pending)
	if n := count(); n < 200 || n > 260 {
		t.Errorf("%d items of 8 KiB are kept", n)
	}
	last := d.wants(callOf("{}"), approval.Pending)
	d.decide(last.ID, approval.Decision{Channel: approval.ByOperator})
	if _, err := d.Item(t.Context(), last.ID); err != nil {
		t.Error("the newest was dropped:", err)
	}
	d.advance(8 * 24 * time.Hour)
	d.wants(callOf(`{"n":"new"}`), approval.Pending)
	if n := count(); n != 1 {
		t.Errorf("%d items are kept after a week", n)
	}
}

func TestWaitEndsWithTheDecision(t *testing.T) {
	t.Parallel()
	d := newDesk(t, approval.Options{Poll: time.Millisecond})
	item := d.wants(callOf("{}"), approval.Pending)
	other, err := approval.Open(d.path, &approval.Options{Now: d.now})
	if err != nil {
		t.Fatal(err)
	}
	decided := make(chan approval.Item)
	go func() {
		got, err := d.Wait(t.Context(), item.ID)
		if err != nil {
			t.Error(err)
		}
		decided <- got
	}()
	if _, err := other.Decide(t.Context(), item.ID, allowed); err != nil { // as another process does
		t.Fatal(err)
	}
	if got := <-decided; got.State != approval.Allowed {
		t.Error(got.State)
	}
	expiring := d.wants(callOf(`{"n":2}`), approval.Pending)
	go func() {
		got, _ := d.Wait(t.Context(), expiring.ID)
		decided <- got
	}()
	d.advance(time.Hour)
	if got := <-decided; got.State != approval.Expired {
		t.Error(got.State)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	third := d.wants(callOf(`{"n":3}`), approval.Pending)
	if _, err := d.Wait(ended, third.ID); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := d.Wait(t.Context(), "ZZZZ"); !errors.Is(err, approval.ErrUnknown) {
		t.Error(err)
	}
}

// A filter selects by caller, and by default only what waits.
func TestList(t *testing.T) {
	t.Parallel()
	d := newDesk(t, approval.Options{})
	local := callOf(`{"n":1}`)
	local.Principal = ""
	first := d.wants(local, approval.Pending)
	second := d.wants(callOf(`{"n":2}`), approval.Pending)
	d.decide(second.ID, allowed)
	none, alice := "", "user:alice"
	for _, c := range []struct {
		filter *approval.Filter
		want   []string
	}{
		{nil, []string{first.ID}},
		{&approval.Filter{All: true}, []string{first.ID, second.ID}},
		{&approval.Filter{Principal: &none}, []string{first.ID}},
		{&approval.Filter{Principal: &alice}, nil},
		{&approval.Filter{Principal: &alice, All: true}, []string{second.ID}},
	} {
		var got []string
		list, err := d.List(t.Context(), c.filter)
		for _, i := range list {
			got = append(got, i.ID)
		}
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Error(c.filter, diff, err)
		}
	}
}
