package operation_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/indusagi/indus/operation"
)

type city struct {
	City string `json:"city"`
}

var weather = operation.Spec{
	Name:        "weather/today",
	Namespace:   "weather",
	Description: "Today's weather in a city.",
	Kind:        operation.Query,
	Visibility:  operation.External,
	Input:       json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
	Output:      json.RawMessage(`{"type":"string"}`),
	Errors:      []operation.ErrorDefinition{{Code: "NO_SUCH_CITY"}},
	Access:      operation.Access{ScopesAll: []string{"weather:read"}},
}

func today(_ context.Context, _ *operation.Context, in city) (string, error) {
	if in.City != "Ulm" {
		return "", &operation.Error{Code: "NO_SUCH_CITY", Message: in.City + " is unknown"}
	}
	return "rain", nil
}

func Example() {
	registry := operation.NewRegistry(nil)
	defer registry.Close()
	if err := registry.Add(operation.New(weather, today)); err != nil {
		fmt.Println(err)
	}

	ada := operation.Identity{Principal: "ada", Grants: operation.Grants{Scopes: []string{"weather:read"}}}
	for _, c := range []operation.Call{
		{Operation: "weather/today", Input: json.RawMessage(`{"city":"Ulm"}`), Caller: ada},
		{Operation: "weather/today", Input: json.RawMessage(`{"city":"Ur"}`), Caller: ada},
		{Operation: "weather/today", Input: json.RawMessage(`{"town":"Ulm"}`), Caller: ada},
		{Operation: "weather/today", Input: json.RawMessage(`{"city":"Ulm"}`)},
		{Operation: "weather/tody", Caller: ada},
	} {
		answer := registry.Call(context.Background(), c)
		fmt.Println(string(answer.Value), answer.Err)
	}
	// Output:
	// "rain" <nil>
	//  NO_SUCH_CITY: Ur is unknown
	//  INVALID_INPUT: /: missing required "city" (string)
	//  FORBIDDEN: the caller may not call "weather/today"
	//  NOT_FOUND: there is no operation of that name
}

// A service composes operations. An operation does things with its own authority that the caller may not do.
func ExampleContext_Call() {
	stock := operation.New(operation.Spec{
		Name: "stock/count", Kind: operation.Query,
		Access: operation.Access{ScopesAll: []string{"stock:read"}},
	}, func(context.Context, *operation.Context, struct{}) (int, error) { return 3, nil })

	order := operation.New(operation.Spec{
		Name: "shop/order", Visibility: operation.External,
	}, func(ctx context.Context, c *operation.Context, in struct {
		Pieces int `json:"pieces"`
	}) (string, error) {
		n, err := operation.Ask[int](ctx, c, "stock/count", struct{}{})
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%d of %d for %s", in.Pieces, n, c.Origin().Principal), nil
	})
	order.Env = []string{"stock/count"}
	order.Authority = &operation.Identity{Principal: "shop", Grants: operation.Grants{Scopes: []string{"stock:read"}}}

	registry := operation.NewRegistry(nil)
	defer registry.Close()
	if err := registry.Add(stock, order); err != nil {
		fmt.Println(err)
	}
	eve := operation.Identity{Principal: "eve"}
	for _, name := range []string{"shop/order", "stock/count"} {
		answer := registry.Call(context.Background(), operation.Call{Operation: name, Input: json.RawMessage(`{"pieces":1}`), Caller: eve})
		fmt.Println(string(answer.Value), answer.Err)
	}
	// Output:
	// "1 of 3 for eve" <nil>
	//  NOT_FOUND: there is no operation of that name
}

// empty is an Adapter whose server is unreachable.
type empty struct{}

func (empty) Import(context.Context) ([]operation.Registration, error) {
	return nil, fmt.Errorf("%w: connection refused", operation.DiscoveryFailed)
}

func ExampleRegistry_Import() {
	registry := operation.NewRegistry(nil)
	defer registry.Close()
	err := registry.Import(context.Background(), "github", empty{})
	fmt.Println(err, errors.Is(err, operation.DiscoveryFailed))
	// Output:
	// operation: import github: discovery failed: connection refused true
}
