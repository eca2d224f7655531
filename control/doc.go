// Package control is the guard of a gateway for operators: policy, approvals, limits, audit, telemetry, and the
// activity that a page shows.
//
//	guard := control.New(&control.Options{Policy: rules, Audit: log})
//	g := gateway.New(ctx, servers, &gateway.Options{Guard: guard})
//
// Every request of a caller passes these steps, whatever its view, era and transport:
//
//	Begin   identity: the caller, its groups, its client
//	Admit   policy, limit, approval, in this order: for each part of a server that the request reaches
//	Ended   the answer for this part
//	End     trace and audit: the caller gets the answer after its record is written
//
// Admit is the only function that decides. Lists ask the same policy. A request may reach several parts: the catalog's
// tool batch calls several tools. Each of them is admitted, and has its own record. A request about a task is judged by
// the tool that made the task.
//
// A call that needs approval asks its caller, if the rule says so and the client can be asked. Otherwise it is answered
// at once with the id of the approval. The identical call spends the grant.
//
// # Concurrency
//
// All methods of a [Control] may be called from any goroutine. It guards one gateway, which ends what it started.
//
// # Faults
//
// A broken policy is a matter of its reader: [Options].Policy returns the last one that could be read. If a record
// cannot be written, the caller gets an error in place of the result. Metrics and activity refuse nothing.
package control
