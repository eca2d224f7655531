package operation_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/indusagi/indus/operation"
)

func TestEnvelopes(t *testing.T) {
	for want, e := range map[string]operation.Envelope{
		`{"id":"1","value":{"a":9007199254740993}}`: {ID: "1", Value: json.RawMessage(`{"a":9007199254740993}`)},
		`{"value":"<&>"}`: {Value: json.RawMessage(`"<&>"`)},
		`{"id":"1","error":{"code":"NOT_FOUND","message":"m","retryable":false}}`: {ID: "1", Err: &operation.Error{Code: operation.NotFound, Message: "m"}},
		`{"error":{"code":"X","message":"","retryable":true,"details":[1]}}`:      {Err: &operation.Error{Code: "X", Retryable: true, Details: json.RawMessage(`[1]`)}},
	} {
		if raw, err := e.MarshalJSON(); string(raw) != want || err != nil {
			t.Errorf("%s, %v", raw, err)
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

func TestSpecsInJSON(t *testing.T) {
	spec := operation.Spec{
		Name: "fs/read", Namespace: "fs", Description: "d", Kind: operation.Query, Visibility: operation.External,
		Input: json.RawMessage(`{"type":"object"}`), Output: json.RawMessage(`true`),
		Errors: []operation.ErrorDefinition{{Code: "GONE", Description: "d", Schema: json.RawMessage(`{}`), Retryable: true}},
		Access: operation.Access{ScopesAll: []string{"a"}, ScopesAny: []string{"b"}},
	}
	raw, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"name":"fs/read","namespace":"fs","description":"d","kind":"query","visibility":"external","input":{"type":"object"},"output":true,"errors":[{"code":"GONE","description":"d","schema":{},"retryable":true}],"access":{"scopesAll":["a"],"scopesAny":["b"]}}`
	if string(raw) != want {
		t.Errorf("%s", raw)
	}
	if raw, err = json.Marshal(operation.Spec{Name: "x"}); string(raw) != `{"name":"x","kind":"mutation","visibility":"internal"}` || err != nil {
		t.Errorf("%s %v", raw, err)
	}
	if got := operation.Kind(9).String(); got != "kind(9)" {
		t.Error(got)
	}
}
