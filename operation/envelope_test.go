package operation_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/operation"
)

func TestEnvelopes(t *testing.T) {
	for _, tt := range []struct{ in, out string }{
		{`{"id":"1","value":{"a":9007199254740993}}`, ``},
		{`{"value":null}`, ``},
		{`{"value":"<&>"}`, ``},
		{`{"id":"1","error":{"code":"NOT_FOUND","message":"m","retryable":false}}`, ``},
		{`{"error":{"code":"X","message":"","retryable":true,"details":[1]}}`, ``},
		{`{"more":1,"value":1}`, `{"value":1}`},
		{`{"error":null,"value":1}`, `{"value":1}`},
		{`{}`, `error`},
		{`null`, `error`},
		{`[]`, `error`},
		{`{"id":"1"}`, `error`},
		{`{"value":1,"error":{"code":"X"}}`, `error`},
		{`{"error":{"message":"no code"}}`, `error`},
		{`{"error":null}`, `error`},
	} {
		if tt.out == "" {
			tt.out = tt.in
		}
		var e operation.Envelope
		got := "error"
		if err := json.Unmarshal([]byte(tt.in), &e); err == nil {
			raw, err := e.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			got = string(raw)
		}
		if got != tt.out {
			t.Errorf("%s: %s", tt.in, got)
		}
	}
	if raw, err := json.Marshal(operation.Envelope{}); string(raw) != `{"value":null}` || err != nil {
		t.Errorf("%s %v", raw, err)
	}
}

func TestDecode(t *testing.T) {
	var n int
	if err := (operation.Envelope{Value: json.RawMessage("7")}).Decode(&n); err != nil || n != 7 {
		t.Errorf("%d %v", n, err)
	}
	if err := (operation.Envelope{Value: json.RawMessage(`"7"`)}).Decode(&n); err == nil {
		t.Error("a string was decoded to a number")
	}
	err := (operation.Envelope{Err: &operation.Error{Code: operation.Forbidden, Message: "no"}}).Decode(&n)
	if !errors.Is(err, operation.Forbidden) || errors.Is(err, operation.NotFound) || err.Error() != "FORBIDDEN: no" {
		t.Error(err)
	}
}

func TestSpecsAreReadAsTheyAreWritten(t *testing.T) {
	spec := operation.Spec{
		Name: "fs/read", Namespace: "fs", Description: "d", Kind: operation.Query, Visibility: operation.External,
		Input: json.RawMessage(`{"type":"object"}`), Output: json.RawMessage(`true`),
		Errors: []operation.ErrorDefinition{{Code: "GONE", Description: "d", Schema: json.RawMessage(`{}`), Retryable: true}},
		Access: operation.Access{ScopesAll: []string{"a"}, ScopesAny: []string{"b"}, Resource: "r", Action: "w"},
	}
	raw, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"name":"fs/read","namespace":"fs","description":"d","kind":"query","visibility":"external","input":{"type":"object"},"output":true,"errors":[{"code":"GONE","description":"d","schema":{},"retryable":true}],"access":{"scopesAll":["a"],"scopesAny":["b"],"resource":"r","action":"w"}}`
	if string(raw) != want {
		t.Errorf("%s", raw)
	}
	var back operation.Spec
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(spec, back); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if raw, err = json.Marshal(operation.Spec{Name: "x"}); string(raw) != `{"name":"x","kind":"mutation","visibility":"internal"}` || err != nil {
		t.Errorf("%s %v", raw, err)
	}
	for _, bad := range []string{`{"kind":"Query"}`, `{"kind":""}`, `{"visibility":"public"}`} {
		if err := json.Unmarshal([]byte(bad), &back); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
	if got := operation.Kind(9).String(); got != "kind(9)" {
		t.Error(got)
	}
}
