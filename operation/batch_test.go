package operation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/indusagi/indus/operation"
)

func TestBatchAnswersInOrderWithinItsBound(t *testing.T) {
	for _, bound := range []int{-1, 0, 1, 3, 8, 100} {
		synctest.Test(t, func(t *testing.T) {
			var running, most atomic.Int32
			work := public("work", func(_ context.Context, _ *operation.Context, in json.RawMessage) (json.RawMessage, error) {
				n := running.Add(1)
				defer running.Add(-1)
				for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
				}
				i, _ := strconv.Atoi(string(in))
				time.Sleep(time.Duration(50-i) * time.Second)
				switch i % 5 {
				case 1:
					panic(i)
				case 2:
					return nil, fmt.Errorf("no %d", i)
				}
				return in, nil
			})
			r := registry(t, work)
			calls := make([]operation.Call, 40)
			for i := range calls {
				calls[i] = operation.Call{ID: "id" + strconv.Itoa(i), Operation: "work", Input: json.RawMessage(strconv.Itoa(i))}
			}
			calls[7].Operation = "nothing"
			for i, e := range r.Batch(t.Context(), calls, bound) {
				want := operation.Code("")
				switch {
				case i == 7:
					want = operation.NotFound
				case i%5 == 1 || i%5 == 2:
					want = operation.InternalError
				}
				if e.ID != calls[i].ID || code(e) != want || want == "" && string(e.Value) != strconv.Itoa(i) {
					t.Errorf("bound %d: %d: %+v", bound, i, e)
				}
			}
			limit := int32(bound)
			if bound <= 0 {
				limit = 8
			}
			if got := most.Load(); got > limit || bound < 40 && got < limit {
				t.Errorf("bound %d: %d at once", bound, got)
			}
		})
	}
}

func TestABatchThatIsCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var began atomic.Int32
		r := registry(t, public("slow", func(ctx context.Context, c *operation.Context, in json.RawMessage) (json.RawMessage, error) {
			began.Add(1)
			return waits(ctx, c, in)
		}))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		answers := r.Batch(ctx, make20("slow"), 4)
		for i, e := range answers {
			if code(e) != operation.Canceled {
				t.Errorf("%d: %+v", i, e)
			}
		}
		if began.Load() != 4 {
			t.Errorf("%d began", began.Load())
		}
	})
	if got := registry(t).Batch(context.Background(), nil, 3); len(got) != 0 {
		t.Errorf("%v of no calls", got)
	}
}

func make20(name string) []operation.Call {
	calls := make([]operation.Call, 20)
	for i := range calls {
		calls[i].Operation = name
	}
	return calls
}

// A handler that ends its goroutine, as t.FailNow does, ends its own call.
func TestABatchOutlivesItsGoroutines(t *testing.T) {
	r := registry(t, public("exits", func(context.Context, *operation.Context, json.RawMessage) (json.RawMessage, error) {
		runtime.Goexit()
		return nil, nil
	}), public("stays", gives("1", nil)))
	calls := append(make20("exits"), make20("stays")...)
	for i, e := range r.Batch(t.Context(), calls, 2) {
		if want := i < 20; want != (code(e) == operation.InternalError) {
			t.Errorf("%d: %+v", i, e)
		}
	}
}
