package catalog_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/toolbox"
	"github.com/indusagi/indus/toolbox/catalog"
)

// newTools returns the four tools over a toolbox with the test's own Do.
func newTools(do func(context.Context, toolbox.Call) (*toolbox.Result, error), o *catalog.Options) toolbox.Source {
	return catalog.Over(&testSource{snapshot: snapshotOf(), do: do}, o)
}

// batchInput returns the input of a batch: n calls of the operations "0", "1", …
func batchInput(n int) json.RawMessage {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"operation":"%d"}`, i))
	}
	return json.RawMessage(`{"calls":[` + strings.Join(list, ",") + `]}`)
}

// batchAnswers returns the answers of a batch.
func batchAnswers(t testing.TB, r *toolbox.Result, err error) (list []answer) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Results []answer }
	if err := json.Unmarshal(r.Structured(), &got); err != nil || r.IsError() {
		t.Fatalf("%v: %s", err, r.Structured())
	}
	return got.Results
}

type answer struct {
	Operation     string
	Result, Value json.RawMessage
	Error         struct{ Code, Message string }
}

func TestABatchAnswersInOrderAndIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int32
		four := newTools(func(_ context.Context, c toolbox.Call) (*toolbox.Result, error) {
			n := running.Add(1)
			defer running.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(time.Duration(100-10*len(c.Name)) * time.Second) // of the bubble's clock: later calls end sooner
			return toolbox.NewResult(toolbox.Text(c.Name)), nil
		}, &catalog.Options{Parallel: 3})
		r, err := four.Do(t.Context(), toolbox.Call{Name: "batch", Input: batchInput(20)})
		for i, a := range batchAnswers(t, r, err) {
			if want := fmt.Sprintf(`{"content":[{"type":"text","text":"%d"}]}`, i); a.Operation != fmt.Sprint(i) ||
				string(a.Result) != want {
				t.Errorf("%d: %+v", i, a)
			}
		}
		if most.Load() != 3 {
			t.Errorf("%d ran at once", most.Load())
		}
	})
}

func TestNoCallOfABatchTouchesAnother(t *testing.T) {
	image := toolbox.Block{Wire: toolbox.Wire{Format: "mcp/modern",
		JSON: json.RawMessage(`{"type":"image","data":"AA==","mimeType":"image/png"}`)}}
	four := newTools(func(_ context.Context, c toolbox.Call) (*toolbox.Result, error) {
		switch c.Name {
		case "0":
			panic("no")
		case "1":
			runtime.Goexit()
		case "2":
			return nil, nil
		case "3":
			return nil, errors.New("down\x1b[31m")
		case "4":
			return toolbox.StructuredResult(json.RawMessage(`{"n":9007199254740993}`), toolbox.Text("n")), nil
		case "5":
			return toolbox.StructuredResult(json.RawMessage(`{"n":1}`), image), nil
		case "6":
			return toolbox.NewResult(toolbox.JSON(json.RawMessage(`{"broken"`)), toolbox.Text("\xff")), nil
		case "7":
			return toolbox.WireResult(toolbox.Wire{Format: "mcp/modern", JSON: json.RawMessage(`{"content":`)},
				func(toolbox.Wire) toolbox.Decoded { return toolbox.Decoded{} }), nil
		}
		return nil, fmt.Errorf("refused: %w",
			&catalog.Error{Code: "NO_LUCK", Message: "none", Retryable: true, Details: json.RawMessage(`{"x":`)})
	}, nil)
	r, err := four.Do(t.Context(), toolbox.Call{Name: "batch", Input: batchInput(9)})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"results":[` + strings.Join([]string{
		`{"operation":"0","error":{"code":"UNAVAILABLE","message":"the operation panicked","retryable":false}}`,
		`{"operation":"1","error":{"code":"UNAVAILABLE","message":"the operation did not answer","retryable":false}}`,
		`{"operation":"2","result":{"content":[]}}`,
		`{"operation":"3","error":{"code":"UNAVAILABLE","message":"down[31m","retryable":false}}`,
		`{"operation":"4","value":{"n":9007199254740993}}`,
		`{"operation":"5","result":{"content":[{"type":"image","data":"AA==","mimeType":"image/png"}],"structuredContent":{"n":1}}}`,
		`{"operation":"6","result":{"content":[{"type":"text","text":"{\"broken\""},{"type":"text","text":"\ufffd"}]}}`,
		`{"operation":"7","result":"{\"content\":"}`,
		`{"operation":"8","error":{"code":"NO_LUCK","message":"none","retryable":true}}`,
	}, ",") + `]}`
	if diff := cmp.Diff(want, string(r.Structured())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// panickingError is an error with methods that panic.
type panickingError struct{ inIs bool }

func (r panickingError) Error() string {
	panic("no")
}

func (r panickingError) Is(error) bool {
	if r.inIs {
		panic("no")
	}
	return false
}

// An error with a method that panics ends its own call, and not the program.
func TestAnErrorThatPanicsIsOfItsCall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	four := newTools(func(_ context.Context, c toolbox.Call) (*toolbox.Result, error) {
		if c.Name == "0" {
			return nil, panickingError{}
		}
		cancel()
		return nil, panickingError{inIs: true}
	}, &catalog.Options{Parallel: 1})
	r, err := four.Do(ctx, toolbox.Call{Name: "batch", Input: batchInput(2)})
	for _, a := range batchAnswers(t, r, err) {
		if a.Error.Code != catalog.Unavailable {
			t.Errorf("%+v", a)
		}
	}
}

func TestABatchHoldsSoMuch(t *testing.T) {
	four := newTools(func(_ context.Context, c toolbox.Call) (*toolbox.Result, error) {
		return toolbox.NewResult(toolbox.Text(strings.Repeat("x", catalog.MaxBatchBytes/2-100))), nil
	}, nil)
	r, err := four.Do(t.Context(), toolbox.Call{Name: "batch", Input: batchInput(5)})
	held := 0
	for _, a := range batchAnswers(t, r, err) {
		if a.Error.Code == "" {
			held++
		} else if a.Error.Code != catalog.TooLarge {
			t.Errorf("%+v", a)
		}
	}
	if held != 2 || len(r.Structured()) > catalog.MaxBatchBytes+10_000 {
		t.Errorf("%d are held in %d bytes", held, len(r.Structured()))
	}
}

func TestACancelledBatchSaysHowFarItCame(t *testing.T) {
	for _, tt := range []struct {
		code string
		over error
	}{
		{catalog.Canceled, context.Canceled},
		{catalog.Timeout, context.DeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			var begun atomic.Int32
			four := newTools(func(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
				begun.Add(1)
				if c.Name == "0" {
					return toolbox.NewResult(), nil
				}
				if tt.code == catalog.Canceled && c.Name == "2" {
					synctest.Wait() // until the other call runs too
					cancel()
				}
				<-ctx.Done()
				return nil, ctx.Err()
			}, &catalog.Options{Parallel: 2})
			r, err := four.Do(ctx, toolbox.Call{Name: "batch", Input: batchInput(5)})
			for i, a := range batchAnswers(t, r, err) {
				if want := tt.code; i > 0 && a.Error.Code != want || i == 0 && a.Error.Code != "" {
					t.Errorf("%d: %+v", i, a)
				}
			}
			if begun.Load() != 3 {
				t.Errorf("%d calls began", begun.Load())
			}
			_, err = four.Do(ctx, toolbox.Call{Name: "search", Input: json.RawMessage(`{"query":"x"}`)})
			if !errors.Is(err, tt.over) {
				t.Errorf("a search afterwards: %v", err)
			}
		})
	}
}

func TestProgressOfABatchOnlyGrows(t *testing.T) {
	var ears sync.WaitGroup
	late := make(chan func(toolbox.Progress), 10)
	four := newTools(func(_ context.Context, c toolbox.Call) (*toolbox.Result, error) {
		for i := range 5 {
			c.Progress(toolbox.Progress{Done: float64(i), Total: 4, Message: "of four"})
			c.Progress(toolbox.Progress{Message: "no numbers"})
			c.Progress(toolbox.Progress{Done: -1, Total: 1e-300})
		}
		late <- c.Progress
		return nil, nil
	}, nil)
	var reports []toolbox.Progress // one at a time: otherwise the race detector reports it
	r, err := four.Do(t.Context(),
		toolbox.Call{Name: "batch", Input: batchInput(10),
			Progress: func(p toolbox.Progress) { reports = append(reports, p) }})
	if n := len(batchAnswers(t, r, err)); n != 10 {
		t.Errorf("%d results", n)
	}
	for range 10 {
		report := <-late
		ears.Go(func() { report(toolbox.Progress{Done: 100, Total: 1}) })
	}
	ears.Wait()
	if !slices.IsSortedFunc(reports, func(a, b toolbox.Progress) int {
		if a.Done < b.Done {
			return -1
		}
		return 1
	}) {
		t.Errorf("not growing: %v", reports)
	}
	if last := reports[len(reports)-1]; len(reports) < 20 || last.Done != 10 || last.Total != 10 {
		t.Errorf("%d reports, the last %+v", len(reports), reports[len(reports)-1])
	}
	if !slices.ContainsFunc(reports, func(p toolbox.Progress) bool { return strings.HasSuffix(p.Message, ": of four") }) {
		t.Errorf("%v", reports)
	}
}

func TestAServersCallIsCancelledInABatch(t *testing.T) {
	four, box := mountTools(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	input := `{"calls":[{"operation":"s__stall"},{"operation":"s__echo","input":{"message":"a"}}]}`
	var reports atomic.Int32
	r, err := four.Do(ctx, toolbox.Call{Name: "batch", Input: json.RawMessage(input), Progress: func(p toolbox.Progress) {
		if reports.Add(1) == 2 { // one call has finished, and the other has reported progress
			cancel()
		}
	}})
	got := batchAnswers(t, r, err)
	if got[0].Error.Code != catalog.Canceled || !strings.Contains(string(got[1].Result), `"a"`) {
		t.Errorf("%+v", got)
	}
	if out, err := box.Do(t.Context(), toolbox.Call{Name: "s__stalled"}); err != nil || textOf(out) != "stalled" {
		t.Errorf("the server was not told: %v", err)
	}
}

func TestAnImageStaysAnImage(t *testing.T) {
	image := toolbox.Block{Wire: toolbox.Wire{Format: "mcp/modern",
		JSON: json.RawMessage(`{"type":"image", "data":"AA=="}`)}}
	own := toolbox.NewResult(image)
	four := newTools(func(context.Context, toolbox.Call) (*toolbox.Result, error) { return own, nil }, nil)
	if r, err := four.Do(t.Context(), toolbox.Call{Name: "call", Input: call("x", "{}")}); err != nil || r != own {
		t.Errorf("%v %v", r, err)
	}
}

// A result that Python's clients cannot read does not affect the results of the other calls.
func TestADeepResultLeavesTheOthers(t *testing.T) {
	r := toolbox.NewRegistry(nil)
	for name, value := range map[string]string{"deep": strings.Repeat("[", 3000) + strings.Repeat("]", 3000),
		"good": "1"} {
		r.Add(toolbox.Tool{Name: name,
			Run: func(context.Context, *toolbox.Context, json.RawMessage) (*toolbox.Result, error) {
				return toolbox.StructuredResult(json.RawMessage(`{"a":` + value + `}`)), nil
			}})
	}
	var got any
	answer := do(t, catalog.Over(r, nil), "batch", `{"calls":[{"operation":"deep"},{"operation":"good"}]}`)
	if err := json.Unmarshal([]byte(answer), &got); err != nil || !strings.Contains(answer, "levels deep") ||
		!strings.HasSuffix(answer, `{"operation":"good","value":{"a":1}}]}`) {
		t.Errorf("%v: %.500s", err, answer)
	}
}
