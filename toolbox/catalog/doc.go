// Package catalog puts four tools in the place of many: search, schema, call and batch.
// A model that would have to be shown 300 tools is shown four, and finds the others
// when it needs them.
//
// [Over] does that for any toolbox, such as a mounted fleet of servers; it is a
// toolbox itself, for a box, an agent or a host:
//
//	package main
//
//	import (
//		"context"
//		"encoding/json"
//		"fmt"
//		"log"
//
//		"github.com/indusagi/indus/toolbox"
//		"github.com/indusagi/indus/toolbox/catalog"
//		"github.com/indusagi/indus/toolbox/standard"
//	)
//
//	func main() {
//		here, err := toolbox.NewContext(".")
//		if err != nil {
//			log.Fatal(err)
//		}
//		local := toolbox.NewRegistry(here)
//		local.Add(standard.ReadOnly()...)
//		box := toolbox.NewBox(nil, catalog.Over(local, nil))
//
//		for _, d := range box.Descriptors() {
//			fmt.Println(d.Name, string(d.Parameters)) // for the model: the four
//		}
//		found := box.Run(context.Background(), toolbox.Call{
//			Name:  "search",
//			Input: json.RawMessage(`{"query":"list the files of a directory"}`), // from the model
//		})
//		fmt.Println(found.Text())
//		out := box.Run(context.Background(), toolbox.Call{
//			Name:  "call",
//			Input: json.RawMessage(`{"operation":"ls","input":{"path":"."}}`),
//		})
//		fmt.Println(out.Text())
//	}
//
// [New] does it for whatever else has a name and can be called: [Operations] is all
// that it has to be. operation/bridge does so with operations.
//
// # The four
//
// search {query, limit} ranks what the caller may find, by names, descriptions and
// parameters, and answers {"operations": [{name, description, kind, parameters}]}:
// the description's first sentence, and the parameters in a line. "more" says that others
// fit too, "pending" names servers that have not answered yet. An empty query lists.
//
// schema {operation, full} answers what is known of one, in some 800 tokens: of a longer schema the
// descriptions are cut, the output schema and what lies deep are left out, and a note says so.
// With full it is all that is known, the input schema as its owner wrote it.
//
// call {operation, input} runs one, if the input fits its schema ([Options.Unvalidated]). Its
// result is the operation's own, as it is: of a tool on a server every block, byte for byte; an
// error that the server answered keeps its code. The input goes out as it came, but for an object or an
// array that a model wrote as a string, as the input or as a member of it, where the schema
// takes nothing else; strict functions have no other way to write what nests.
//
// batch {calls} runs several at once and answers {"results": […]} in their order. Each
// has the operation and one of value (a value), result (what a tool gave, as MCP writes it) and
// error. One that fails leaves the others alone; the batch itself did not fail.
//
// # Errors
//
// A call without a result is a failed result that has {code, message, retryable,
// details} as its structured value, an [Error]. An unknown name is [NotFound], and the
// details have the nearest names of those that the caller may find. What the toolbox behind
// ends with as an error stays that error, except in a batch, where it is [Unavailable].
//
// # Who may what
//
// The caller goes along: what the toolbox does not show to a principal, search
// does not find. A call is always the toolbox's own to refuse.
//
// # Bounds
//
// The constants say how much one call may ask for. An index is made when somebody first
// searches a list, and serves until the list changes; a call never waits for one, unless
// its name is unknown. What an operation gives is not cut here: a box cuts it, for models.
//
// What others wrote (names, descriptions, schemas) is data in JSON and nowhere becomes part
// of our own words. It may still tell a model what to do.
//
// # Concurrency
//
// Everything may be called from any goroutine. Only a batch starts goroutines, and waits
// for them.
//
// # Testing
//
// A registry of one's own, or package interop/interoptest, is all that Over needs.
package catalog
