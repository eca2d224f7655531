package parked

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/host/internal/count"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

var errClosed = errors.New("the host is closing")

// rig is exchanges with the requests of one client.
type rig struct {
	t      *testing.T
	all    *Exchanges
	next   handler
	caller toolbox.Principal
	back   interop.Peer
}

func newRig(t *testing.T, o Options, next handler) *rig {
	o.Keys = sealed.Random()
	return &rig{t: t, all: New(NewPool(o), errClosed), next: next, caller: "ann",
		back: func(context.Context, interop.Message) (json.RawMessage, error) { return nil, nil }}
}

// size returns the number of parked calls.
func (r *rig) size() int {
	r.all.mu.Lock()
	defer r.all.mu.Unlock()
	return len(r.all.parked)
}

// isEmpty reports whether a tally counts nothing.
func isEmpty(t *count.Tally[toolbox.Principal]) bool {
	defer t.Remove("", 1)
	return t.Add("", 1, 1, 1)
}

// send sends a request. more is added to its params after the arguments.
func (r *rig) send(ctx context.Context, more string) (callResult, error) {
	m := interop.Message{
		Method: "tools/call", Params: json.RawMessage(`{"name":"t","arguments":{"b":1,"a":2}` + more + `}`), Caller: r.caller, Era: interop.Modern,
		Client: &interop.Client{Era: interop.Modern, Capabilities: json.RawMessage(`{"elicitation":{}}`)},
	}
	result, err := r.all.Handle(ctx, m, r.back, r.next)
	var a callResult
	if err == nil {
		if err := json.Unmarshal(result, &a); err != nil {
			r.t.Fatal(err)
		}
	}
	return a, err
}

// callResult is a result.
type callResult struct {
	ResultType    string                     `json:"resultType"`
	InputRequests map[string]json.RawMessage `json:"inputRequests"`
	RequestState  string                     `json:"requestState"`
	Text          string                     `json:"said"`
}

// answer returns the additional params of a retry with these answers.
func (a callResult) answer(answers string) string {
	return `,"inputResponses":{` + answers + `},"requestState":` + string(wire.Quote(a.RequestState))
}

func (r *rig) must(a callResult, err error) callResult {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

// refused checks that an error is -32602 and contains a text.
func (r *rig) refused(err error, text string) {
	r.t.Helper()
	var rpc *interop.RPCError
	if !errors.As(err, &rpc) || rpc.Code != interop.CodeInvalidParams || !strings.Contains(rpc.Message, text) {
		r.t.Errorf("the error is %v, not one of invalid params that says %q", err, text)
	}
}

func elicit(ctx context.Context, m interop.Message, message string) (string, error) {
	answer, err := m.Client.Back(ctx, interop.Message{ID: wire.Quote("1"), Method: protocol.MethodElicit, Params: json.RawMessage(`{"message":` + string(wire.Quote(message)) + `}`)})
	return string(answer), err
}

// askInTurn returns a server that asks the messages one after the other, and returns the answers.
func askInTurn(messages ...string) handler {
	return func(ctx context.Context, m interop.Message, _ interop.Peer) (json.RawMessage, error) {
		var got []string
		for _, text := range messages {
			a, err := elicit(ctx, m, text)
			if err != nil {
				return nil, err
			}
			got = append(got, a)
		}
		return json.RawMessage(`{"said":` + string(wire.Quote(strings.Join(got, " "))) + `}`), nil
	}
}

// askAtOnce returns a server that asks all messages at once.
func askAtOnce(messages ...string) handler {
	return func(ctx context.Context, m interop.Message, _ interop.Peer) (json.RawMessage, error) {
		got := make([]string, len(messages))
		var sending sync.WaitGroup
		for i, text := range messages {
			sending.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond) // so that they are in order
				got[i], _ = elicit(ctx, m, text)
			})
		}
		sending.Wait()
		return json.RawMessage(`{"said":` + string(wire.Quote(strings.Join(got, " "))) + `}`), nil
	}
}

func TestAQuestionIsAnsweredByAnotherRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{}, askInTurn("who?", "when?"))
		defer r.all.Close()
		first := r.must(r.send(t.Context(), ""))
		want := map[string]json.RawMessage{"elicitation-1": json.RawMessage(`{"method":"elicitation/create","params":{"message":"who?"}}`)}
		if diff := cmp.Diff(want, first.InputRequests); diff != "" || first.ResultType != "input_required" {
			t.Fatalf("%v: -want +got\n%s", first.ResultType, diff)
		}
		second := r.must(r.send(t.Context(), first.answer(`"elicitation-1":{"n":1}`)))
		if _, ok := second.InputRequests["elicitation-2"]; !ok || second.RequestState == first.RequestState {
			t.Fatalf("the second round is %+v", second)
		}
		last := r.must(r.send(t.Context(), second.answer(`"elicitation-2":{"n":2},"other":5`)))
		if last.Text != `{"n":1} {"n":2}` {
			t.Errorf("the server got %s", last.Text)
		}
		if r.size() != 0 || !isEmpty(&r.all.parkedCounts) || !isEmpty(&r.all.questionBytes) {
			t.Errorf("there remain %v, %+v and %+v bytes", r.all.parked, &r.all.parkedCounts, &r.all.questionBytes)
		}
	})
}

// A state from before a restart, or of another gateway with the same key, never names a call that waits here. The ids
// of both runs do not begin with the same number.
func TestAStateOfAnotherRunNamesNoCallOfThisOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := newRig(t, Options{}, askInTurn("who?"))
		before.caller = "eve"
		foreign := before.must(before.send(t.Context(), ""))
		before.all.Close()

		r := newRig(t, Options{}, askInTurn("who?"))
		defer r.all.Close()
		r.all.keys = before.all.keys
		if r.all.lastID.Load() == before.all.lastID.Load() {
			t.Error("two runs number their calls alike")
		}
		r.all.lastID.Store(before.all.lastID.Load() - 1)
		own := r.must(r.send(t.Context(), ""))
		r.caller = "eve"
		_, err := r.send(t.Context(), foreign.answer(`"elicitation-1":{"n":666}`))
		r.refused(err, "no call waits")
		r.caller = "ann"
		if last := r.must(r.send(t.Context(), own.answer(`"elicitation-1":{"n":1}`))); last.Text != `{"n":1}` {
			t.Errorf("ann got %s", last.Text)
		}
	})
}

func TestQuestionsAreGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{}, askAtOnce("a", "b", "c"))
		defer r.all.Close()
		first := r.must(r.send(t.Context(), ""))
		if len(first.InputRequests) != 3 {
			t.Fatalf("asked: %v", first.InputRequests)
		}
		again := r.must(r.send(t.Context(), first.answer(`"elicitation-2":{"n":2}`)))
		if _, ok := again.InputRequests["elicitation-2"]; ok || len(again.InputRequests) != 2 {
			t.Fatalf("what was not answered is asked again, and that alone: %v", again.InputRequests)
		}
		none := r.must(r.send(t.Context(), again.answer(``)))
		_, err := r.send(t.Context(), none.answer(`"elicitation-1":{},"elicitation-3":7`))
		r.refused(err, "elicitation-3 must be an object")
		last := r.must(r.send(t.Context(), none.answer(`"elicitation-1":{"n":1},"elicitation-3":{"n":3}`))) // no answer was accepted
		if last.Text != `{"n":1} {"n":2} {"n":3}` {
			t.Errorf("the server got %s", last.Text)
		}
	})
}

func TestAStateIsForOneUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r := newRig(t, Options{}, func(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error) {
			result, err := askInTurn("who?")(ctx, m, back)
			<-release
			return result, err
		})
		defer r.all.Close()
		first := r.must(r.send(t.Context(), ""))
		more := first.answer(`"elicitation-1":{}`)
		var inFlight sync.WaitGroup
		inFlight.Go(func() { r.must(r.send(t.Context(), more)) })
		synctest.Wait()
		_, err := r.send(t.Context(), more)
		r.refused(err, "given before")
		close(release)
		inFlight.Wait()
		_, err = r.send(t.Context(), more)
		r.refused(err, "given before")
	})
}

func TestAStateIsForItsRequestAndPrincipalAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{}, askInTurn("who?"))
		defer r.all.Close()
		first := r.must(r.send(t.Context(), ""))
		more := first.answer(`"elicitation-1":{}`)

		thief := *r
		thief.caller = "eve"
		_, err := thief.send(t.Context(), more)
		r.refused(err, "somebody else")
		_, err = r.send(t.Context(), `,"extra":1`+more)
		r.refused(err, "another request")
		alone := r.all.keys
		r.all.keys = alone.For("b")
		_, err = r.send(t.Context(), more)
		r.refused(err, "another replica")
		r.all.keys = alone
		other := *r
		other.all = New(r.all.Pool, errClosed)
		_, err = other.send(t.Context(), more)
		r.refused(err, errNotParked.Message)
		for i := len(Prefix); i < len(first.RequestState); i++ {
			altered := []byte(first.RequestState)
			altered[i] ^= 1
			_, err := r.send(t.Context(), callResult{RequestState: string(altered)}.answer(`"elicitation-1":{}`))
			r.refused(err, "altered")
		}
		for _, state := range []string{Prefix, Prefix + "x", first.RequestState + "-TAMPERED", first.RequestState[:99]} {
			_, err := r.send(t.Context(), callResult{RequestState: state}.answer(``))
			r.refused(err, "altered")
		}
		m := interop.Message{Method: "tools/call", Params: json.RawMessage(`{"_meta":{"x":1},"arguments":{"a":2,"b":1},"name":"t"` + more + `}`), Caller: r.caller,
			Client: &interop.Client{Era: interop.Modern, Capabilities: json.RawMessage(`{"elicitation":{}}`)}} // members in another order are the same request
		if _, err := r.all.Handle(t.Context(), m, r.back, r.next); err != nil {
			t.Error(err)
		}
	})
}

func TestAParkedCallExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		r := newRig(t, Options{Wait: time.Minute}, func(ctx context.Context, m interop.Message, _ interop.Peer) (json.RawMessage, error) {
			_, err := elicit(ctx, m, "who?")
			ended <- context.Cause(ctx)
			return nil, err
		})
		defer r.all.Close()
		first := r.must(r.send(t.Context(), ""))
		time.Sleep(time.Minute - time.Second)
		synctest.Wait()
		if r.size() != 1 {
			t.Fatal("it has expired too early")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if err := <-ended; !errors.Is(err, errParkedLate) || r.size() != 0 || !isEmpty(&r.all.questionBytes) {
			t.Errorf("the call ended with %v; parked: %v", err, r.all.parked)
		}
		_, err := r.send(t.Context(), first.answer(`"elicitation-1":{}`))
		r.refused(err, "expired")
	})
}

func TestWhoGoesAwayCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		r := newRig(t, Options{}, func(ctx context.Context, _ interop.Message, _ interop.Peer) (json.RawMessage, error) {
			<-ctx.Done()
			close(ended)
			return nil, ctx.Err()
		})
		defer r.all.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.send(ctx, ""); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		<-ended
	})
}

func TestParkedCallsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{MaxTotal: 5, MaxPerCaller: 3}, askInTurn("who?"))
		defer r.all.Close()
		park := func(caller string) error {
			one := *r
			one.caller = toolbox.Principal(caller)
			_, err := one.send(t.Context(), "")
			return err
		}
		for i, caller := range []string{"ann", "ann", "ann", "bob", "bob"} {
			if err := park(caller); err != nil {
				t.Fatal(i, err)
			}
		}
		if n := r.all.Count(); n != 5 {
			t.Errorf("%d calls are counted as parked", n)
		}
		for _, caller := range []string{"ann", "bob", "eve"} {
			if err := park(caller); err == nil || !strings.Contains(err.Error(), "too many calls wait") {
				t.Errorf("%s: %v", caller, err)
			}
		}
		time.Sleep(defaultWait)
		synctest.Wait()
		if err := park("eve"); err != nil {
			t.Error("there is no room again:", err)
		}
	})
}

func TestWhatHappensWhileParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var received []string
		r := newRig(t, Options{}, func(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error) {
			note := func(n int) {
				_, _ = back(ctx, interop.Message{Method: "notifications/progress", Params: json.RawMessage(fmt.Sprintf(`{"progressToken":"one","progress":%d}`, n))})
			}
			note(1)
			go func() {
				time.Sleep(time.Second)
				note(2)
				note(3)
				_, _ = back(ctx, interop.Message{Method: "notifications/message", Params: json.RawMessage(`{}`)})
			}()
			result, err := askInTurn("who?")(ctx, m, back)
			note(4)
			return result, err
		})
		defer r.all.Close()
		r.back = func(_ context.Context, m interop.Message) (json.RawMessage, error) {
			received = append(received, string(m.Params))
			return nil, nil
		}
		first := r.must(r.send(t.Context(), `,"_meta":{"progressToken":"one"}`))
		time.Sleep(2 * time.Second)
		r.must(r.send(t.Context(), `,"_meta":{"progressToken":"two"}`+first.answer(`"elicitation-1":{}`)))
		want := []string{`{"progressToken":"one","progress":1}`, `{"progressToken":"two","progress":3}`, `{"progressToken":"two","progress":4}`}
		if diff := cmp.Diff(want, received); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}

func TestAServerMayStopAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{}, func(ctx context.Context, m interop.Message, _ interop.Peer) (json.RawMessage, error) {
			brief, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, err := elicit(brief, m, "who?")
			return json.RawMessage(`{"said":` + string(wire.Quote(fmt.Sprint(err))) + `}`), nil
		})
		defer r.all.Close()
		first := r.must(r.send(t.Context(), ""))
		time.Sleep(2 * time.Second) // the result waits for the client
		last := r.must(r.send(t.Context(), first.answer(`"elicitation-1":{}`)))
		if !strings.Contains(last.Text, "did not answer") || r.size() != 0 {
			t.Errorf("%+v", last)
		}
	})
}

func TestCloseEndsWhatIsParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{}, askInTurn("who?"))
		first := r.must(r.send(t.Context(), ""))
		r.all.Close()
		if _, err := r.send(t.Context(), ""); !errors.Is(err, errClosed) {
			t.Error(err)
		}
		_, err := r.send(t.Context(), first.answer(`"elicitation-1":{}`))
		if err == nil {
			t.Error("it was answered")
		}
	})
}

func TestAPanicIsTheRequests(t *testing.T) {
	r := newRig(t, Options{}, func(context.Context, interop.Message, interop.Peer) (json.RawMessage, error) { panic("mine") })
	defer r.all.Close()
	defer func() {
		if v := recover(); v != "mine" {
			t.Error(v)
		}
	}()
	_, _ = r.send(t.Context(), "")
}

// A thousand calls of two principals have the same params. Each gets its own answers.
func TestAThousandParked(t *testing.T) {
	r := newRig(t, Options{MaxPerCaller: 500}, askInTurn("who?"))
	defer r.all.Close()
	var sending sync.WaitGroup
	for i := range 1000 {
		sending.Go(func() {
			one := *r
			one.caller = toolbox.Principal([]string{"ann", "bob"}[i%2])
			a, err := one.send(t.Context(), "")
			if err == nil {
				a, err = one.send(t.Context(), a.answer(fmt.Sprintf(`"elicitation-1":{"call":%d}`, i)))
			}
			if want := fmt.Sprintf(`{"call":%d}`, i); err != nil || a.Text != want {
				t.Errorf("call %d: %q, %v", i, a.Text, err)
			}
		})
	}
	sending.Wait()
	if r.size() != 0 || !isEmpty(&r.all.questionBytes) {
		t.Errorf("parked: %d, asked: %+v", r.size(), &r.all.questionBytes)
	}
}

// Open questions of one principal leave room for questions of others.
func TestOpenQuestionsOfOnePrincipal(t *testing.T) {
	var questioned count.Tally[toolbox.Principal]
	room := func(caller toolbox.Principal, n int) bool {
		return questioned.Add(caller, n, maxCallerQuestionBytes, maxTotalQuestionBytes)
	}
	for range maxCallerQuestionBytes / maxQuestionBytes {
		if !room("eve", maxQuestionBytes) {
			t.Fatal("there is no room for eve's share")
		}
	}
	if room("eve", 1) || !room("ann", maxQuestionBytes) {
		t.Error("eve has more than a share, or ann has none")
	}
	if questioned.Remove("eve", maxQuestionBytes); !room("eve", 1) {
		t.Error("what was answered takes room")
	}
}

func TestAURLToOpenIsAsked(t *testing.T) {
	r := newRig(t, Options{}, nil)
	m := interop.Message{Method: "tools/call", Params: json.RawMessage(`{"name":"t"}`), Caller: "ann"}
	failed := interop.NewFault(interop.ToolError, "git", "tools/call t", &interop.RPCError{Code: protocol.CodeURLRequired, Message: "log in first",
		Data: json.RawMessage(`{"elicitations":[{"mode":"url","elicitationId":"e1","url":"https://a.example/x","message":"Log in"}]}`)})

	m.Client = &interop.Client{Era: interop.Modern, Capabilities: json.RawMessage(`{"elicitation":{}}`)}
	_, err := r.all.urlRequired(m, failed)
	if want := "log in first; open this in a browser, and then send the request again: https://a.example/x (-32603)"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}

	m.Client = &interop.Client{Era: interop.Modern, Capabilities: json.RawMessage(`{"elicitation":{"url":{}}}`)}
	out, err := r.all.urlRequired(m, failed)
	if err != nil {
		t.Fatal(err)
	}
	var a callResult
	if err := json.Unmarshal(out, &a); err != nil {
		t.Fatal(err)
	}
	want := map[string]json.RawMessage{"elicitation-1": json.RawMessage(
		`{"method":"elicitation/create","params":{"mode":"url","url":"https://a.example/x","message":"Log in"}}`)}
	if diff := cmp.Diff(want, a.InputRequests); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}

	opened := false
	retry := func(action string) (string, error) {
		got := ""
		m := m
		m.Params = json.RawMessage(`{"name":"t"` + a.answer(`"elicitation-1":{"action":"`+action+`"}`) + `}`)
		_, err := r.all.Handle(t.Context(), m, r.back, func(_ context.Context, m interop.Message, _ interop.Peer) (json.RawMessage, error) {
			got, opened = string(m.Params), m.Client.Opened
			return json.RawMessage(`{}`), nil
		})
		return got, err
	}
	if got, err := retry("accept"); got != `{"name":"t"}` || err != nil || !opened {
		t.Errorf("the server got %s, %v", got, err)
	}
	if got, err := retry("decline"); got != "" || err == nil || !strings.Contains(err.Error(), "not opened") {
		t.Errorf("the server got %s, %v", got, err)
	}
}
