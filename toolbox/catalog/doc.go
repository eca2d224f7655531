// Package catalog replaces many tools by four: search, schema, call and batch. Instead of 300 tools, a
// model sees four, and finds the others when it needs them.
//
// [Over] does this for any toolbox, such as a mounted fleet of servers. The result is itself a toolbox,
// for a box, an agent or a host:
//
//	box := toolbox.NewBox(nil, catalog.Over(local, nil)) // local is a registry with many tools
//	for _, d := range box.Descriptors() {
//		fmt.Println(d.Name, string(d.Parameters)) // for the model: the four
//	}
//	found := box.Run(ctx, toolbox.Call{
//		Name:  "search",
//		Input: json.RawMessage(`{"query":"list the files of a directory"}`), // from the model
//	})
//	fmt.Println(found.Text())
//	out := box.Run(ctx, toolbox.Call{
//		Name:  "call",
//		Input: json.RawMessage(`{"operation":"ls","input":{"path":"."}}`),
//	})
//	fmt.Println(out.Text())
//
// [New] does the same for any set of named operations that implements [Operations]. Package
// operation/bridge uses it.
//
// # The four
//
// search {query, limit} ranks the operations that the caller may find, by names, descriptions and
// parameters. It returns {"operations": [{name, description, kind, parameters}]}, with the first
// sentence of the description, and the parameters on one line. "more" means that further operations
// match. "pending" names servers that have not answered yet. An empty query lists all operations.
//
// schema {operation, full} describes one operation in some 800 tokens. If the schema is longer,
// descriptions are cut, the output schema and deep levels are left out, and a note reports this. With
// full it returns the complete description, with the input schema as its owner wrote it.
//
// call {operation, input} runs one operation, if the input fits its schema (see [Options.Unvalidated]).
// It returns the operation's own result unchanged: for a tool on a server every block, byte for byte.
// An error from the server keeps its code. The input is passed on unchanged, with one exception. An
// object or an array that a model wrote as a string is parsed, if the schema accepts nothing else
// there. This applies to the whole input and to its members. Models with strict functions cannot write
// nested values in any other way.
//
// batch {calls} runs several operations at once and returns {"results": […]} in their order. Each
// result has the operation and one of value (a value), result (a tool's result, as MCP writes it) and
// error. A failed call does not affect the others, and the batch itself does not fail.
//
// # Errors
//
// A call without a result is a failed result with an [Error] {code, message, retryable, details} as its
// structured value. An unknown name is [NotFound], and the details have the nearest names that the
// caller may find. An error of the toolbox behind is returned as that error, except in a batch, where
// it becomes [Unavailable].
//
// # Permissions
//
// The caller is passed on. search does not find tools that the toolbox hides from a principal. The
// toolbox itself decides whether it refuses a call.
//
// # Bounds
//
// The constants bound one call. An index is made at the first search of a list, and is used until the
// list changes. A call waits for an index only if its name is unknown. Results of operations are not
// cut here: a box cuts them for models.
//
// Text from outside (names, descriptions, schemas) is data in JSON and never part of this package's own
// sentences. It may still contain instructions to a model.
//
// # Concurrency
//
// Everything may be called from any goroutine. Only a batch starts goroutines, and it waits for them.
//
// # Testing
//
// A test can give Over a registry of its own, or use package interop/interoptest.
package catalog
