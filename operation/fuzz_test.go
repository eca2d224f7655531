package operation_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/indusagi/indus/operation"
)

// FuzzCall calls operations with arbitrary schemas, inputs, values and errors. The envelope can always be encoded, and
// the handler receives only JSON in UTF-8.
func FuzzCall(f *testing.F) {
	f.Add("op", []byte(`{"type":"object"}`), []byte(`{}`), []byte(`1`), "CODE", []byte(`{"a":1}`), byte(0))
	f.Add("op", []byte(`{"$ref":"#/x"}`), []byte(`{`), []byte(`{`), "TIMEOUT", []byte(`{`), byte(1))
	f.Add("nop", []byte(`true`), []byte("\"\xff\""), []byte("\"\xff\""), "", []byte("\xff"), byte(2))
	f.Add("op", []byte(nil), []byte(nil), []byte(nil), "DECLARED", []byte(`null`), byte(3))
	f.Fuzz(func(t *testing.T, name string, schema, input, value []byte, errorCode string, detail []byte, how byte) {
		reg := public("op", func(_ context.Context, _ *operation.Context, in json.RawMessage) (json.RawMessage, error) {
			if !json.Valid(in) || !utf8.Valid(in) {
				t.Errorf("the handler got %q", in)
			}
			switch how % 4 {
			case 1:
				return nil, &operation.Error{Code: operation.Code(errorCode), Message: string(detail), Details: detail}
			case 2:
				panic(detail)
			case 3:
				return value, context.DeadlineExceeded
			}
			return value, nil
		})
		reg.Spec.Input, reg.Spec.Output = schema, schema
		reg.Spec.Errors = []operation.ErrorDefinition{{Code: "DECLARED", Schema: schema}}
		if how&4 != 0 {
			reg.Provenance = operation.FromMCP
		}
		r := operation.NewRegistry(nil)
		if err := r.Add(reg); err != nil {
			return
		}
		calls := []operation.Call{{Operation: name, Input: input}, {Operation: "op", Input: input}, {Operation: "op"}}
		codes := []operation.Code{
			operation.NotFound, operation.Forbidden, operation.InvalidInput, operation.InternalError, operation.Timeout, operation.Canceled, "DECLARED",
		}
		for i, c := range calls {
			answer := r.Call(context.Background(), c)
			if (answer.Value == nil) == (answer.Err == nil) {
				t.Fatalf("%d: %+v", i, answer)
			}
			raw, err := json.Marshal(answer)
			if err != nil || !utf8.Valid(raw) {
				t.Fatalf("%d: %q %v", i, raw, err)
			}
			if e := answer.Err; e != nil && !slices.Contains(codes, e.Code) {
				t.Fatalf("the code %q reached the caller", e.Code)
			}
		}
	})
}
