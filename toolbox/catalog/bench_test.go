package catalog_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/indusagi/indus/toolbox"
	"github.com/indusagi/indus/toolbox/catalog"
)

// BenchmarkCall compares a direct call of a tool with a call through the four tools.
func BenchmarkCall(b *testing.B) {
	r := echoes()
	input := json.RawMessage(`{"text":"a"}`)
	run := func(name string, src toolbox.Source, c toolbox.Call) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := src.Do(b.Context(), c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("direct", r, toolbox.Call{Name: "echo", Input: input})
	run("through", catalog.Over(r, &catalog.Options{Unvalidated: true}),
		toolbox.Call{Name: "call", Input: call("echo", string(input))})
	run("validated", catalog.Over(r, nil), toolbox.Call{Name: "call", Input: call("echo", string(input))})
}

func BenchmarkSearch(b *testing.B) {
	for _, n := range []int{300, 10_000} {
		var many []toolbox.Descriptor
		for i := range n {
			many = append(many, toolbox.Descriptor{
				Name:        fmt.Sprintf("server%d__tool_%d", i%30, i),
				Description: fmt.Sprintf("Counts the sheep of shepherd %d. And more.", i),
				Schema:      json.RawMessage(`{"type":"object","properties":{"field":{"type":"string"},"limit":{"type":"integer"}},"required":["field"]}`),
			})
		}
		four := catalog.Over(&testSource{snapshot: snapshotOf(many...)}, nil)
		do(b, four, "search", `{"query":"sheep"}`) // makes the index
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				do(b, four, "search", `{"query":"count the sheep of shepherd 77"}`)
			}
		})
	}
}
