package operation_test

import (
	"context"
	"encoding/json"
	"iter"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/operation"
)

// counts is a Stream of n numbers that ends with err.
func counts(n int, err error) operation.Stream {
	return func(context.Context, *operation.Context, json.RawMessage) iter.Seq2[json.RawMessage, error] {
		return func(yield func(json.RawMessage, error) bool) {
			for i := range n {
				if !yield(json.RawMessage(strconv.Itoa(i)), nil) {
					return
				}
			}
			if err != nil {
				yield(nil, err)
			}
		}
	}
}

func subscription(s operation.Stream) operation.Registration {
	return operation.Registration{
		Spec:   operation.Spec{Name: "s", Kind: operation.Subscription, Visibility: operation.External, Output: json.RawMessage(`{"type":"integer","maximum":5}`)},
		Stream: s,
	}
}

// all is what a subscriber gets: values, and the code of an error.
func all(seq iter.Seq[operation.Envelope]) (list []string) {
	for e := range seq {
		if e.Err != nil {
			list = append(list, string(e.Err.Code))
		} else {
			list = append(list, string(e.Value))
		}
	}
	return list
}

func TestSubscribe(t *testing.T) {
	for _, tt := range []struct {
		about  string
		stream operation.Stream
		want   []string
	}{
		{"values", counts(3, nil), []string{"0", "1", "2"}},
		{"nothing", counts(0, nil), nil},
		{"an error is the last", counts(2, errPlain), []string{"0", "1", "INTERNAL"}},
		{"every value is checked", counts(9, nil), []string{"0", "1", "2", "3", "4", "5", "INTERNAL"}},
		{"a panic is caught", func(context.Context, *operation.Context, json.RawMessage) iter.Seq2[json.RawMessage, error] {
			return func(yield func(json.RawMessage, error) bool) {
				yield(json.RawMessage("1"), nil)
				panic("oh")
			}
		}, []string{"1", "INTERNAL"}},
		{"no stream at all", func(context.Context, *operation.Context, json.RawMessage) iter.Seq2[json.RawMessage, error] {
			return nil
		}, []string{"INTERNAL"}},
	} {
		r := registry(t, subscription(tt.stream))
		seq := r.Subscribe(t.Context(), operation.Call{Operation: "s"})
		for range 2 { // each loop subscribes anew
			if diff := cmp.Diff(tt.want, all(seq)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tt.about, diff)
			}
		}
	}
}

func TestSubscribingIsRefusedAsCallingIs(t *testing.T) {
	op := subscription(counts(1, nil))
	op.Spec.Access.ScopesAll = []string{"x"}
	op.Spec.Input = json.RawMessage(`{"required":["n"]}`)
	r := registry(t, op, public("call", gives("1", nil)), hidden("hidden", gives("1", nil)))
	may := operation.Identity{Grants: scopes("x")}
	for _, tt := range []struct {
		name, input string
		who         operation.Identity
		want        string
	}{
		{"s", `{"n":1}`, may, "0"},
		{"s", `{}`, may, "INVALID_INPUT"},
		{"s", `{}`, operation.Identity{}, "FORBIDDEN"},
		{"call", ``, may, "INVALID_OPERATION_TYPE"},
		{"hidden", ``, may, "NOT_FOUND"},
		{"nobody", ``, may, "NOT_FOUND"},
	} {
		got := all(r.Subscribe(t.Context(), operation.Call{Operation: tt.name, Input: json.RawMessage(tt.input), Caller: tt.who}))
		if diff := cmp.Diff([]string{tt.want}, got); diff != "" {
			t.Errorf("%s %s: -want +got:\n%s", tt.name, tt.input, diff)
		}
	}
	if answer := r.Call(t.Context(), operation.Call{Operation: "s", Input: json.RawMessage(`{"n":1}`), Caller: may}); code(answer) != operation.InvalidKind {
		t.Errorf("called: %+v", answer)
	}
}

// ticks yields until its context ends, whose end it notes.
func ticks(ended *bool) operation.Stream {
	return func(ctx context.Context, _ *operation.Context, _ json.RawMessage) iter.Seq2[json.RawMessage, error] {
		return func(yield func(json.RawMessage, error) bool) {
			defer func() { *ended = true }()
			for {
				select {
				case <-ctx.Done():
					yield(nil, ctx.Err())
					return
				case <-time.After(time.Second):
					if !yield(json.RawMessage("1"), nil) {
						return
					}
				}
			}
		}
	}
}

func TestASubscriptionEndsWithItsSubscriber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		r := registry(t, subscription(ticks(&ended)))
		n := 0
		for range r.Subscribe(t.Context(), operation.Call{Operation: "s"}) {
			if n++; n == 3 {
				break
			}
		}
		if !ended {
			t.Error("the stream goes on after the loop was left")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute) // longer than a call may take
		defer cancel()
		got := all(r.Subscribe(ctx, operation.Call{Operation: "s"}))
		if len(got) < 1190 || got[len(got)-1] != "TIMEOUT" {
			t.Errorf("%d, and last %s", len(got), got[len(got)-1])
		}
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(1500*time.Millisecond, stop)
		if diff := cmp.Diff([]string{"1", "CANCELED"}, all(r.Subscribe(ctx, operation.Call{Operation: "s"}))); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// What the subscriber's own loop does is not the operation's fault.
func TestAPanicOfTheSubscriberIsItsOwn(t *testing.T) {
	ended := false
	r := registry(t, subscription(func(ctx context.Context, c *operation.Context, in json.RawMessage) iter.Seq2[json.RawMessage, error] {
		return func(yield func(json.RawMessage, error) bool) {
			defer func() { ended = true }()
			counts(3, nil)(ctx, c, in)(yield)
		}
	}))
	defer func() {
		if v := recover(); v != "mine" || !ended {
			t.Errorf("recovered %v, ended %v", v, ended)
		}
	}()
	for range r.Subscribe(t.Context(), operation.Call{Operation: "s"}) {
		panic("mine")
	}
}

func TestAHandlerSubscribesToo(t *testing.T) {
	double := subscription(func(ctx context.Context, c *operation.Context, in json.RawMessage) iter.Seq2[json.RawMessage, error] {
		return func(yield func(json.RawMessage, error) bool) {
			for e := range c.Subscribe(ctx, "numbers", in) {
				var n int
				if err := e.Decode(&n); err != nil {
					yield(nil, err)
					return
				}
				if !yield(json.RawMessage(strconv.Itoa(2*n)), nil) {
					return
				}
			}
		}
	})
	double.Env = []string{"numbers"}
	numbers := subscription(counts(3, nil))
	numbers.Spec.Name, numbers.Spec.Visibility = "numbers", operation.Internal
	r := registry(t, double, numbers)
	if diff := cmp.Diff([]string{"0", "2", "4"}, all(r.Subscribe(t.Context(), operation.Call{Operation: "s"}))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
