// Package operation defines named, typed operations that a service composes. They declare inputs, values, errors and
// access rules. The package does not depend on MCP, models or transports.
//
// Define operations with [New], add them to a [Registry], and call them:
//
//	weather := operation.Spec{
//		Name:       "weather/today",
//		Namespace:  "weather",
//		Kind:       operation.Query,
//		Visibility: operation.External,
//		Input:      json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
//		Output:     json.RawMessage(`{"type":"string"}`),
//		Errors:     []operation.ErrorDefinition{{Code: "NO_SUCH_CITY", Description: "Nobody knows it."}},
//		Access:     operation.Access{ScopesAll: []string{"weather:read"}},
//	}
//	registry := operation.NewRegistry(nil)
//	defer registry.Close()
//	err := registry.Add(operation.New(weather, today)) // func(context.Context, *operation.Context, city) (string, error)
//
//	answer := registry.Call(ctx, operation.Call{
//		Operation: "weather/today",
//		Input:     json.RawMessage(`{"city":"Ulm"}`),
//		Caller:    operation.Identity{Principal: "ada", Grants: operation.Grants{Scopes: []string{"weather:read"}}},
//	})
//	fmt.Println(string(answer.Value), answer.Err)
//
// # A call
//
// A call ends with an [Envelope]: a value, or an [Error] with a code. The registry checks a call in this order, and
// stops at the first failure:
//
//  1. The operation exists and can be called from there. Otherwise the code is [NotFound].
//  2. The caller has the rights. Otherwise the code is [Forbidden].
//  3. The input fits the schema. Otherwise the code is [InvalidInput].
//
// Then the handler runs. If its value does not fit the schema, if the [Spec] does not declare its error, or if it
// panics, the code is [InternalError]. If the deadline passes, it is [Timeout]. If the caller gives up, it is
// [Canceled].
//
// # Access
//
// For calls from outside the rights of the caller's [Identity] count. Only External operations are visible: an Internal
// operation looks like an unknown name. A handler calls other operations, also Internal ones, through its [Context]. It
// can call the operations in its registration's Env, with the rights of its registration's Authority. The rights of the
// outside caller are checked only once. They neither extend nor limit nested calls. Leaves (see [Provenance]) call no
// operations.
//
// Secrets are separate from rights: they are [Capabilities]. The capabilities of a registration are available only to
// its operation. The capabilities of a call pass on to nested calls.
//
// # Changes
//
// [Registry.Replace] replaces all operations of an owner in one change, so an [Adapter] can import again when its
// system changes. [Registry.Import] does both. A [Snapshot] never changes, and has the same pointer until the next
// change. The resources of an operation are released after its last call.
//
// # Concurrency
//
// All methods are safe for concurrent use. Snapshots, entries, inputs and values are shared and read-only, down to
// their bytes. A handler runs in the goroutine of its caller, and many calls may run at once. It must end soon after
// its context, because a call returns only when its handler does. The package starts no goroutines.
//
// # Errors
//
// Registration fails with a [*Collision], or with the defect of a Spec. Calls report failures in the Envelope. Its Err,
// like any [*Error], matches its code with errors.Is.
//
// # Testing
//
// A test needs only a Registry. Register fakes for the operations that a handler calls.
package operation
