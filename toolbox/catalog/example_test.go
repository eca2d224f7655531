package catalog_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/indusagi/indus/toolbox"
	"github.com/indusagi/indus/toolbox/catalog"
)

// A model sees four tools, and with them it finds, reads and calls one of many operations.
func ExampleOver() {
	tools := toolbox.NewRegistry(nil) // or the box of a mounted fleet
	tools.Add(
		toolbox.Define("weather", "The weather of a city, today.", func(_ context.Context, in struct {
			City string `json:"city"`
		}) (string, error) {
			return "rain in " + in.City, nil
		}),
		toolbox.Define("clock", "The time of day.", func(context.Context, struct{}) (string, error) { return "noon", nil }),
	)
	box := toolbox.NewBox(nil, catalog.Over(tools, nil))
	ask := func(tool, input string) {
		out := box.Run(context.Background(), toolbox.Call{Name: tool, Input: json.RawMessage(input)})
		fmt.Println(out.Text())
	}
	ask("search", `{"query":"will it rain in this city?"}`)
	ask("schema", `{"operation":"weather"}`)
	ask("call", `{"operation":"weather","input":{"city":"Ulm"}}`)
	ask("batch", `{"calls":[{"operation":"clock"},{"operation":"wether"}]}`)
	// Output:
	// {"operations":[{"name":"weather","description":"The weather of a city, today.","parameters":"(city: string)"}]}
	// {"name":"weather","description":"The weather of a city, today.","input":{"properties":{"city":{"type":"string"}},"additionalProperties":false,"type":"object","required":["city"]}}
	// rain in Ulm
	// {"results":[{"operation":"clock","result":{"content":[{"type":"text","text":"noon"}]}},{"operation":"wether","error":{"code":"NOT_FOUND","message":"there is no operation of that name; the details have the nearest ones","retryable":false,"details":{"operation":"wether","nearest":["weather"]}}}]}
}

// phone is a set of operations that is not a toolbox.
type phone struct{ list *catalog.List }

func (p phone) View(context.Context, toolbox.Principal) (catalog.View, error) {
	return catalog.View{List: p.list}, nil
}

func (p phone) Call(_ context.Context, c toolbox.Call) (*toolbox.Result, error) {
	if c.Name != "ring" {
		return nil, &catalog.Error{Code: catalog.NotFound}
	}
	return nil, &catalog.Error{Code: "BUSY", Message: "try later", Retryable: true}
}

func ExampleNew() {
	list := catalog.NewList([]catalog.Operation{{Name: "ring", Description: "Calls somebody.", Kind: "mutation"}})
	four := catalog.New(phone{list}, &catalog.Options{Prefix: "phone_"})
	r, err := four.Do(context.Background(),
		toolbox.Call{Name: "phone_call", Input: json.RawMessage(`{"operation":"ring"}`)})
	fmt.Println(string(r.Structured()), r.IsError(), err)
	// Output:
	// {"code":"BUSY","message":"try later","retryable":true} true <nil>
}
