// Package operation defines named, typed operations that a service composes. They declare inputs, values, errors and
// access rules. The package does not depend on MCP, models or transports.
//
// Define operations with [New], add them to a [Registry], and call them:
//
//	package main
//
//	import (
//		"context"
//		"encoding/json"
//		"fmt"
//		"log"
//
//		"github.com/indusagi/indus/operation"
//	)
//
//	type city struct {
//		City string `json:"city"`
//	}
//
//	func main() {
//		weather := operation.Spec{
//			Name:       "weather/today",
//			Namespace:  "weather",
//			Kind:       operation.Query,
//			Visibility: operation.External,
//			Input:      json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
//			Output:     json.RawMessage(`{"type":"string"}`),
//			Errors:     []operation.ErrorDefinition{{Code: "NO_SUCH_CITY", Description: "Nobody knows it."}},
//			Access:     operation.Access{ScopesAll: []string{"weather:read"}},
//		}
//		registry := operation.NewRegistry(nil)
//		defer registry.Close()
//		err := registry.Add(operation.New(weather, func(_ context.Context, _ *operation.Context, in city) (string, error) {
//			if in.City != "Ulm" {
//				return "", &operation.Error{Code: "NO_SUCH_CITY", Message: in.City + " is unknown"}
//			}
//			return "rain", nil
//		}))
//		if err != nil {
//			log.Fatal(err)
//		}
//
//		answer := registry.Call(context.Background(), operation.Call{
//			Operation: "weather/today",
//			Input:     json.RawMessage(`{"city":"Ulm"}`),
//			Caller:    operation.Identity{Principal: "ada", Grants: operation.Grants{Scopes: []string{"weather:read"}}},
//		})
//		fmt.Println(string(answer.Value), answer.Err)
//	}
//
// # A call
//
// A call ends with an [Envelope]: a value, or an [Error] with a code. In this order, the first
// that is wrong ends it, and nothing after it is looked at: does the operation exist, and can
// it be called from there ([NotFound]); has the caller the rights ([Forbidden]); does the
// input fit ([InvalidInput]). Then the handler runs. A value that does not fit the schema, an
// error that the [Spec] does not declare and a panic are an [InternalError]; a deadline that has passed is a [Timeout],
// and a caller that gave up a [Canceled].
//
// # Who may what
//
// From outside the rights of the caller's [Identity] count, and only External operations
// exist: an Internal one looks like a name that nobody has. A handler calls
// others, Internal ones too, through its [Context]: those that its registration's Env names,
// with the rights of its registration's Authority. The caller's rights are asked once, at
// the door, and go no further: neither do they help inside, nor does their absence hinder.
// Leaves (see [Provenance]) call nothing.
//
// Secrets travel apart from rights, as [Capabilities]: those of a registration are its own,
// and those of a call go on with it.
//
// # Coming and going
//
// [Registry.Replace] makes the operations of an owner exactly those that are given, as one
// change: an [Adapter] can be asked again whenever what it stands for has changed.
// [Registry.Import] does both. A [Snapshot] never changes and is the same pointer until there is a new
// one. What an operation holds is released after its last call.
//
// # Concurrency
//
// All methods are safe for concurrent use. Snapshots, entries, inputs and values are shared
// and read-only, down to their bytes. A handler runs in the goroutine of its caller, many
// at once, and has to end soon after its context does: a call returns when its handler does.
// Nothing here starts one.
//
// # Errors
//
// Registering has errors: a [*Collision], or what a Spec gets wrong. Calls have none: their
// Envelope says all, and its Err, as any [*Error], answers errors.Is for its code.
//
// # Testing
//
// A Registry needs nothing else: register what a handler calls as operations of the test's own.
package operation
