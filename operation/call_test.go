package operation_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/operation"
	"github.com/indusagi/indus/schema/validate"
)

const citySchema = `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`

func TestTheInputIsCheckedBeforeTheHandlerRuns(t *testing.T) {
	ran := false
	op := public("weather", func(context.Context, *operation.Context, json.RawMessage) (json.RawMessage, error) {
		ran = true
		return nil, nil
	})
	op.Spec.Input = json.RawMessage(citySchema)
	r := registry(t, op)
	for _, input := range []string{``, `{}`, `{"city":1}`, `{"city":"Ulm","x":1}`, `{"city":"Ulm"}x`, `nonsense`, "{\"city\":\"\xff\"}", `[` + strings.Repeat("[", 20_000)} {
		answer := ask(r, "weather", input)
		if code(answer) != operation.InvalidInput || ran {
			t.Errorf("%.20q: %v, ran %v", input, answer.Err, ran)
		}
	}
	want := operation.Details{Operation: "weather", Problems: []validate.Problem{
		{Path: "/citty", Got: `"Ulm"`, Near: "/city"},
		{Path: "/city", Expected: "string"},
	}}
	if diff := cmp.Diff(want, details(t, ask(r, "weather", `{"citty":"Ulm"}`))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if answer := ask(r, "weather", `{"city":"Ulm"}`); answer.Err != nil || string(answer.Value) != "null" || !ran {
		t.Errorf("%+v", answer)
	}
}

func TestTheValueIsCheckedAfterIt(t *testing.T) {
	for _, tt := range []struct {
		value string
		want  operation.Code
	}{
		{`{"city":"Ulm"}`, ""},
		{`{"city":7}`, operation.InternalError},
		{``, operation.InternalError}, // an empty value is invalid
		{`{"city":`, operation.InternalError},
		{"{\"city\":\"\xff\"}", operation.InternalError},
	} {
		op := public("weather", func(context.Context, *operation.Context, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(tt.value), nil
		})
		op.Spec.Output = json.RawMessage(citySchema)
		answer := ask(registry(t, op), "weather", "")
		if code(answer) != tt.want {
			t.Errorf("%q: %v", tt.value, answer.Err)
		}
	}
	secret := public("leaky", returning(`{"city":"x","token":"hunter2"}`, nil))
	secret.Spec.Output = json.RawMessage(citySchema)
	answer := ask(registry(t, secret), "leaky", "")
	if text, _ := json.Marshal(answer); bytes.Contains(text, []byte("hunter2")) || len(details(t, answer).Problems) != 1 {
		t.Errorf("a value that must not be seen: %s", text)
	}
}

func TestWhatHandlersFailWith(t *testing.T) {
	declared := []operation.ErrorDefinition{
		{Code: "NO_SUCH_CITY", Schema: json.RawMessage(`{"type":"object","required":["near"]}`)},
		{Code: "BUSY", Retryable: true},
	}
	own := func(code operation.Code, details string) error {
		return &operation.Error{Code: code, Message: "m", Details: json.RawMessage(details)}
	}
	for _, tt := range []struct {
		about string
		err   error
		want  string
	}{
		{"declared", own("NO_SUCH_CITY", `{"near":"Bonn"}`), `{"code":"NO_SUCH_CITY","message":"m","retryable":false,"details":{"near":"Bonn"}}`},
		{"declared, and wrapped", fmt.Errorf("weather: %w", own("NO_SUCH_CITY", `{"near":"Bonn"}`)), `{"code":"NO_SUCH_CITY","message":"m","retryable":false,"details":{"near":"Bonn"}}`},
		{"declared as retryable", &operation.Error{Code: "BUSY"}, `{"code":"BUSY","message":"","retryable":true}`},
		{"declared, with details that do not fit", own("NO_SUCH_CITY", `{}`), `{"code":"INTERNAL","message":"the details of \"NO_SUCH_CITY\" are not what the operation declares","retryable":false,"details":{"operation":"weather","problems":[{"path":"/near","expected":"any"}],"original":{"code":"NO_SUCH_CITY","message":"m","retryable":false,"details":{}}}}`},
		{"declared, with details that are no JSON", own("BUSY", `{`), `{"code":"INTERNAL","message":"the details of \"BUSY\" are not what the operation declares","retryable":false,"details":{"operation":"weather","original":{"code":"BUSY","message":"m","retryable":true}}}`},
		{"undeclared", own("BROKE", `[1]`), `{"code":"INTERNAL","message":"the operation ended with an error that it does not declare","retryable":false,"details":{"operation":"weather","original":{"code":"BROKE","message":"m","retryable":false,"details":[1]}}}`},
		{"undeclared, with details that are no JSON", own("BROKE", `{`), `{"code":"INTERNAL","message":"the operation ended with an error that it does not declare","retryable":false,"details":{"operation":"weather","original":{"code":"BROKE","message":"m","retryable":false}}}`},
		{"a code of the protocol is not its to give", own(operation.NotFound, `{}`), `{"code":"INTERNAL","message":"the operation ended with an error that it does not declare","retryable":false,"details":{"operation":"weather","original":{"code":"NOT_FOUND","message":"m","retryable":false,"details":{}}}}`},
		{"but for one", &operation.Error{Code: operation.InternalError, Message: "later", Retryable: true}, `{"code":"INTERNAL","message":"later","retryable":true}`},
		{"any error", errPlain, `{"code":"INTERNAL","message":"internal error","retryable":false,"details":{"operation":"weather"}}`},
		{"no error, in an error's clothes", (*operation.Error)(nil), `{"code":"INTERNAL","message":"the operation failed","retryable":false,"details":{"operation":"weather"}}`},
		{"what it waited for was late", fmt.Errorf("dial: %w", os.ErrDeadlineExceeded), `{"code":"TIMEOUT","message":"what the operation waited for took too long","retryable":true,"details":{"operation":"weather"}}`},
		{"what it waited for was canceled", context.Canceled, `{"code":"INTERNAL","message":"internal error","retryable":false,"details":{"operation":"weather"}}`},
	} {
		op := public("weather", returning("", tt.err))
		op.Spec.Errors = declared
		text, err := json.Marshal(ask(registry(t, op), "weather", "").Err)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, string(text)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", tt.about, diff)
		}
	}
}

func TestAnUndeclaredErrorIsForTheLoggerAlone(t *testing.T) {
	var log bytes.Buffer
	r := operation.NewRegistry(&operation.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err := r.Add(public("bad", returning("", errPlain))); err != nil {
		t.Fatal(err)
	}
	answer := ask(r, "bad", "")
	if code(answer) != operation.InternalError || answer.Err.Message != "internal error" {
		t.Errorf("the caller reads %v", answer.Err)
	}
	if got := log.String(); !strings.Contains(got, errPlain.Error()) || !strings.Contains(got, "operation=bad") {
		t.Errorf("the logger got %q", got)
	}
}

func TestAPanicIsCaughtAndToldToTheLoggerAlone(t *testing.T) {
	var log bytes.Buffer
	r := operation.NewRegistry(&operation.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	err := r.Add(public("bad", func(context.Context, *operation.Context, json.RawMessage) (json.RawMessage, error) {
		panic("hunter2")
	}))
	if err != nil {
		t.Fatal(err)
	}
	answer := ask(r, "bad", "")
	text, _ := json.Marshal(answer)
	if code(answer) != operation.InternalError || bytes.Contains(text, []byte("hunter2")) || bytes.Contains(text, []byte("goroutine")) {
		t.Errorf("the caller sees %s", text)
	}
	if !strings.Contains(log.String(), "hunter2") || !strings.Contains(log.String(), "goroutine") || !strings.Contains(log.String(), "operation=bad") {
		t.Errorf("the log has %s", &log)
	}
}

// waits is a handler that ends when its context ends.
func waits(ctx context.Context, _ *operation.Context, _ json.RawMessage) (json.RawMessage, error) {
	<-ctx.Done()
	return nil, fmt.Errorf("waiting: %w", ctx.Err())
}

func TestDeadlines(t *testing.T) {
	for _, tt := range []struct {
		about            string
		registry, single time.Duration
		kind             operation.Kind
		caller           time.Duration // 0: none
		want             time.Duration
		retryable        bool
	}{
		{"the default", 0, 0, operation.Query, 0, 10 * time.Minute, true},
		{"the registry's", time.Second, 0, operation.Query, 0, time.Second, true},
		{"its own", time.Second, time.Minute, operation.Query, 0, time.Minute, true},
		{"the caller's", time.Minute, 0, operation.Query, time.Second, time.Second, true},
		{"none but the caller's", 0, -1, operation.Query, time.Hour, time.Hour, true},
		{"none for any but the caller's", -1, 0, operation.Query, time.Hour, time.Hour, true},
		{"of what may have happened nobody should try again", time.Second, 0, operation.Mutation, 0, time.Second, false},
	} {
		t.Run(tt.about, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := operation.NewRegistry(&operation.Options{Timeout: tt.registry})
				op := public("slow", waits)
				op.Timeout, op.Spec.Kind = tt.single, tt.kind
				if err := r.Add(op); err != nil {
					t.Fatal(err)
				}
				ctx := t.Context()
				if tt.caller > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.caller)
					defer cancel()
				}
				began := time.Now()
				answer := r.Call(ctx, operation.Call{Operation: "slow"})
				if took := time.Since(began); took != tt.want {
					t.Errorf("it took %v, not %v", took, tt.want)
				}
				if !errors.Is(answer.Err, operation.Timeout) || !errors.Is(answer.Err, context.DeadlineExceeded) || answer.Err.Retryable != tt.retryable {
					t.Errorf("%+v", answer.Err)
				}
			})
		})
	}
}

func TestCancelingIsToldFromATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry(t, public("slow", waits))
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errPlain) })
		answer := r.Call(ctx, operation.Call{Operation: "slow"})
		if !errors.Is(answer.Err, operation.Canceled) || !errors.Is(answer.Err, context.Canceled) || errors.Is(answer.Err, operation.Timeout) {
			t.Errorf("%+v", answer.Err)
		}
		ran := false
		if err := r.Add(public("never", func(context.Context, *operation.Context, json.RawMessage) (json.RawMessage, error) {
			ran = true
			return nil, nil
		})); err != nil {
			t.Fatal(err)
		}
		if answer := r.Call(ctx, operation.Call{Operation: "never"}); code(answer) != operation.Canceled || ran {
			t.Errorf("%+v, ran %v", answer.Err, ran)
		}
	})
}

// TestALateValueIsAValue checks that a value wins over a deadline that has passed.
func TestALateValueIsAValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		op := public("late", func(ctx context.Context, _ *operation.Context, _ json.RawMessage) (json.RawMessage, error) {
			<-ctx.Done()
			return json.RawMessage("1"), nil
		})
		op.Timeout = time.Second
		if answer := ask(registry(t, op), "late", ""); string(answer.Value) != "1" {
			t.Errorf("%+v", answer)
		}
	})
}

func TestIDs(t *testing.T) {
	var ids []string
	note := func(_ context.Context, c *operation.Context, _ json.RawMessage) (json.RawMessage, error) {
		ids = append(ids, c.ID())
		return nil, nil
	}
	top := public("top", func(ctx context.Context, c *operation.Context, _ json.RawMessage) (json.RawMessage, error) {
		c.Call(ctx, "leaf", nil)
		c.Call(ctx, "leaf", nil)
		return note(ctx, c, nil)
	})
	top.Env = []string{"leaf"}
	r := registry(t, top, hidden("leaf", note))
	if got := r.Call(t.Context(), operation.Call{ID: "x", Operation: "top"}).ID; got != "x" {
		t.Errorf("id %q", got)
	}
	if a, b := ask(r, "nothing", "").ID, ask(r, "nothing", "").ID; a == "" || a == b {
		t.Errorf("ids %q and %q", a, b)
	}
	if diff := cmp.Diff([]string{"x.1", "x.2", "x"}, ids); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
