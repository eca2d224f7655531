package operation_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/indusagi/indus/operation"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// returning returns a Handler that returns value or err.
func returning(value string, err error) operation.Handler {
	return func(context.Context, *operation.Context, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(value), err
	}
}

// calls returns a Handler that calls another operation and returns its envelope.
func calls(name, input string) operation.Handler {
	return func(ctx context.Context, c *operation.Context, _ json.RawMessage) (json.RawMessage, error) {
		return json.Marshal(c.Call(ctx, name, json.RawMessage(input)))
	}
}

// public returns an External query without a schema.
func public(name string, h operation.Handler) operation.Registration {
	return operation.Registration{Spec: operation.Spec{Name: name, Kind: operation.Query, Visibility: operation.External}, Handler: h}
}

// hidden returns an Internal query without a schema.
func hidden(name string, h operation.Handler) operation.Registration {
	r := public(name, h)
	r.Spec.Visibility = operation.Internal
	return r
}

func registry(t testing.TB, all ...operation.Registration) *operation.Registry {
	t.Helper()
	r := operation.NewRegistry(nil)
	t.Cleanup(r.Close)
	if err := r.Add(all...); err != nil {
		t.Fatal(err)
	}
	return r
}

func ask(r *operation.Registry, name, input string) operation.Envelope {
	return r.Call(context.Background(), operation.Call{Operation: name, Input: json.RawMessage(input)})
}

// code returns the code of an envelope, or "" if it has a value.
func code(e operation.Envelope) operation.Code {
	if e.Err == nil {
		return ""
	}
	return e.Err.Code
}

func details(t testing.TB, e operation.Envelope) (d operation.Details) {
	t.Helper()
	if e.Err == nil {
		t.Fatalf("a value: %s", e.Value)
	}
	if err := json.Unmarshal(e.Err.Details, &d); err != nil {
		t.Fatalf("details %q: %v", e.Err.Details, err)
	}
	return d
}

func scopes(list ...string) operation.Grants { return operation.Grants{Scopes: list} }

var errPlain = errors.New("the disk is full")
