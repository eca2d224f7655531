package operation_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/operation"
	"github.com/indusagi/indus/schema/validate"
)

type point struct {
	X    int `json:"x,omitempty"`
	Y    int `json:"y,omitempty"`
	More int `json:"more" jsonschema:"default=40"`
	Deep struct {
		Z []float64 `json:"z"`
	} `json:"deep,omitzero"`
}

func TestNew(t *testing.T) {
	spec := operation.Spec{Name: "sum", Visibility: operation.External, Errors: []operation.ErrorDefinition{{Code: "ODD"}}}
	r := registry(t, operation.New(spec, func(_ context.Context, c *operation.Context, in point) (map[string]float64, error) {
		switch {
		case in.X == 13:
			return nil, &operation.Error{Code: "ODD"}
		case in.X < 0:
			return map[string]float64{"sum": math.NaN()}, nil
		}
		return map[string]float64{"sum": float64(in.X + in.Y + in.More)}, nil
	}))
	for _, tt := range []struct {
		input, value string
		want         operation.Code
	}{
		{`{"x":1,"y":2}`, `{"sum":43}`, ""},
		{`{"x":1.0,"y":2e2,"more":0}`, `{"sum":201}`, ""},
		{``, `{"sum":40}`, ""},
		{`{"x":13}`, ``, "ODD"},
		{`{"x":-1}`, ``, operation.InternalError},
		{`{"x":"1"}`, ``, operation.InvalidInput},
		{`{"deep":{"z":[1,"2"]}}`, ``, operation.InvalidInput},
		{`[]`, ``, operation.InvalidInput},
		{`7`, ``, operation.InvalidInput},
	} {
		answer := ask(r, "sum", tt.input)
		if code(answer) != tt.want || string(answer.Value) != tt.value {
			t.Errorf("%s: %s %v", tt.input, answer.Value, answer.Err)
		}
	}
	got := details(t, ask(r, "sum", `{"x":"1"}`))
	if diff := cmp.Diff(operation.Details{Operation: "sum", Problems: []validate.Problem{{Path: "/x", Expected: "integer", Got: `"1"`}}}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAsk(t *testing.T) {
	double := operation.New(operation.Spec{Name: "double", Kind: operation.Query}, func(_ context.Context, _ *operation.Context, n int) (int, error) {
		return 2 * n, nil
	})
	top := operation.New(operation.Spec{Name: "top", Visibility: operation.External}, func(ctx context.Context, c *operation.Context, name string) (int, error) {
		if name == "nothing that JSON has" {
			_, err := operation.Ask[int](ctx, c, "double", func() {})
			return 0, err
		}
		n, err := operation.Ask[int](ctx, c, name, 21)
		if err != nil && !errors.Is(err, operation.NotFound) {
			t.Errorf("%s: %v", name, err)
		}
		return n, err
	})
	top.Env = []string{"double"}
	r := registry(t, double, top)
	if got := ask(r, "top", `"double"`); string(got.Value) != "42" {
		t.Errorf("%+v", got)
	}
	if got := ask(r, "top", `"triple"`); code(got) != operation.InternalError || details(t, got).Original.Code != operation.NotFound {
		t.Errorf("%+v", got.Err)
	}
	if got := ask(r, "top", `"nothing that JSON has"`); code(got) != operation.InternalError {
		t.Errorf("%+v", got.Err)
	}
}

func BenchmarkCall(b *testing.B) {
	schema := json.RawMessage(`{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}`)
	for _, validated := range []bool{false, true} {
		name := "bare"
		reg := public("op", returning(`{"x":1}`, nil))
		if validated {
			name, reg.Spec.Input, reg.Spec.Output = "validated", schema, schema
		}
		b.Run(name, func(b *testing.B) {
			r := registry(b, reg)
			for b.Loop() {
				if got := ask(r, "op", `{"x":1}`); got.Err != nil {
					b.Fatal(got.Err)
				}
			}
		})
	}
	b.Run("unknown of 10,000", func(b *testing.B) {
		all := make([]operation.Registration, 10_000)
		for i := range all {
			all[i] = public(operation.Join("service"+string(rune('a'+i%26)), "operation_"+string(rune('a'+i/26%26))+string(rune('a'+i/676))), returning("1", nil))
		}
		r := registry(b, all...)
		for b.Loop() {
			if got := ask(r, "servicea/opreation_ab", ""); got.Err == nil {
				b.Fatal("found")
			}
		}
	})
}
