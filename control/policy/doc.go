// Package policy decides what a caller may do. The rules are Cedar policies in files. It does not depend on MCP.
//
// Begin with [Open], or with [Load] for files that do not change:
//
//	engine, err := policy.Open("policy.cedar")
//	verdict := engine.Current().Decide(&policy.Request{
//		Principal: policy.Principal{Name: "user:alice", Groups: []string{"dev"}},
//		Action:    policy.Call,
//		Item:      policy.Item{Kind: policy.Tool, Server: "github", Name: "create_issue"},
//		Arguments: json.RawMessage(`{"repo": "indus"}`),
//	})
//
// A request that no permit covers is denied. A forbid overrides all permits.
//
// # Entities
//
// The principal is User::"alice" in its Groups (see [UserID]). The resource is Tool::"github/create_issue", a Prompt or
// a Resource, each in Server::"github", or Server::"github", or View::"@review". The file indus.cedarschema lists
// the attributes. The annotations of a tool are claims of its server (resource.claims). A claim that the server did not
// state is absent, which is not the same as false.
//
// The context has view, client, era, time, and address if it is known. Calls and prompts have args too.
//
// # Arguments
//
// context.args holds the arguments: objects are records, arrays are sets, strings are strings. An integer of 64 bits is
// a Long, however it is written (5, 5.0 or 5e0). Other numbers with at most four decimal places are decimals. A set has
// no order and no repeated elements.
//
// Cedar has no value for null, for other numbers, and for strings that are not Unicode. Arrays of more than 1,000
// elements (100 if they are arrays or objects) and values below a depth of 32 have none here. A condition that uses
// such a value cannot be evaluated.
//
// # Errors in conditions
//
// A permit that cannot be evaluated does not apply. A forbid that cannot be evaluated applies: this differs from Cedar,
// which ignores it. The verdict lists the reasons (Problems). Arguments with repeated members are denied.
//
// # Annotations
//
// A permit may have @approve("caller"), "other" or "either", and @rate("30/m"). Every rule may have @id("name") and
// @audit("arguments") or @audit("arguments,result"). Other annotations are errors. Of the permits that apply, the
// strictest approval counts, and all rates.
//
// # Lists
//
// [Set.MayList] reports which items a list shows. An item is shown if some arguments could be permitted. It considers
// the values that the conditions compare the arguments with. If it cannot decide, the item is shown. [Set.ListKey]
// returns a key for a cache of the result.
//
// # Concurrency
//
// A Set does not change, and Decide and MayList do no I/O. All methods of Set and Engine may be called from any
// goroutine. Nothing runs in the background: the caller of [Engine.Reload] decides when files are read.
//
// # Faults
//
// An error of [Load] names file, line and column of each problem. [Engine.Reload] then keeps the previous policies.
package policy
