package toolbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/indusagi/indus/toolbox"
)

// A call from an agent or from the program itself has no client. A tool that asks gets an error at once.
func TestWithoutAClientNobodyIsAsked(t *testing.T) {
	asks := toolbox.Define("ask", "", func(ctx context.Context, _ struct{}) (string, error) {
		toolbox.Log(ctx).Error("dropped")
		if _, err := toolbox.Sample(ctx, toolbox.Sampling{}); !errors.Is(err, toolbox.ErrCannotAsk) {
			t.Error(err)
		}
		if name, life := toolbox.ContextOf(ctx).Session(); name != "" || life.Err() != nil {
			t.Errorf("%q, %v", name, life.Err())
		}
		_, err := toolbox.Elicit[struct{ Name string }](ctx, "Who?")
		return "", err
	})
	if got, failed := do(t, asks, ""); !failed || got != "the client cannot be asked: no client made this call" {
		t.Error(got)
	}
	if _, err := toolbox.Elicit[struct{ Name string }](t.Context(), "Who?"); !errors.Is(err, toolbox.ErrCannotAsk) {
		t.Error(err)
	}
	toolbox.Log(t.Context()).Error("dropped")
}

// A type that is not a form is an error of the program, whatever the client supports. It is reported at
// the first call.
func TestAFormIsCheckedBeforeAnythingIsAsked(t *testing.T) {
	_, err := toolbox.Elicit[struct{ Deep struct{ A int } }](t.Context(), "Who?")
	if err == nil || errors.Is(err, toolbox.ErrCannotAsk) ||
		!strings.Contains(err.Error(), `the field "Deep" cannot be in a form`) {
		t.Error(err)
	}
}

// robot is a client that answers every question, as a program's own front could.
type robot struct{ slog.Handler }

func (robot) Session() (string, context.Context) { return "", nil }
func (robot) Elicit(_ context.Context, message string, _ json.RawMessage) (json.RawMessage, error) {
	return json.RawMessage(`{"Name":"` + message + `"}`), nil
}
func (robot) Sample(_ context.Context, s toolbox.Sampling) (toolbox.Message, error) {
	return s.Messages[0], nil
}
func (r robot) Log() slog.Handler { return r.Handler }

func ExampleWithClient() {
	ctx := toolbox.WithClient(context.Background(), robot{slog.DiscardHandler})
	who, err := toolbox.Elicit[struct{ Name string }](ctx, "Ann")
	reply, _ := toolbox.Sample(ctx, toolbox.Sampling{Messages: []toolbox.Message{{Text: "hello"}}})
	toolbox.Log(ctx).Info("asked")
	fmt.Println(who.Name, err, reply.Text)
	// Output: Ann <nil> hello
}
