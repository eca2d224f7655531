// Package toolbox defines tools and calls of tools. A program or a protocol calls them with Do, which is exact. A model
// calls them with Run, which never fails. The package does not depend on MCP, a model or a provider.
//
// Put local tools into a [Registry]. Put registries and other implementations of [Source] (a mounted fleet of MCP
// servers, another box) into a [Box]. Show [Box.Descriptors] to a model, and pass its calls to [Box.Run]. Without a
// model, as in a host, [Join] makes one source of several:
//
//	local := toolbox.NewRegistry(here) // here, err := toolbox.NewContext(".")
//	local.Add(standard.ReadOnly()...)
//	box := toolbox.NewBox(nil, local)
//	for _, d := range box.Descriptors() {
//		fmt.Println(d.Name, string(d.Parameters)) // for the model
//	}
//	out := box.Run(ctx, toolbox.Call{Name: "ls", Input: json.RawMessage(`{"path":"."}`)}) // from the model
//	fmt.Println(out.Text())
//
// To write a tool, use [Define] over Go types, which infers the schemas, or a [Tool] with a handwritten schema.
// Arguments that do not fit a tool's schema never reach it. [Image], [Audio], [Link] and [Embedded] make the blocks of
// a result that are not text.
//
// # Asking the client
//
// A tool may ask the person behind the calling client for a struct with [Elicit], and use the client's model with
// [Sample]. It writes to the client's log with [Log] and reports progress with [Context.Report]. All but Report take
// the context that the tool received. Elicit and Sample wait until there is an answer, in every era of MCP. There are
// three errors: the person declines ([ErrDeclined]), the person dismisses the question ([ErrDismissed]), or the client
// cannot be asked ([ErrCannotAsk]). [Context.Session] returns the name of the client's session and a context that ends
// with it.
//
// # Do and Run
//
// Do is exact in both directions. It sends the input byte for byte, and returns the owner's [Result], which is decoded
// only when its content is read. An unknown name and a fault are errors.
//
// Run is for models. It parses arguments that came as a string, and missing arguments become {}. It converts arguments
// from the schema that the model saw to the owner's schema, and validates them against the owner's schema. If they do
// not fit, the error explains how to correct them. Run projects the tool's result to one JSON value and cuts it in the
// middle to the budget. Every failure is an [Outcome] with a description.
//
// # For models
//
// [BoxOptions.Profile] selects the provider's rules for tools; without it, each tool's own [Descriptor.Profile] does. A
// Box adapts the schemas and descriptions to these rules. [Descriptor.Parameters] and the descriptions of
// [Box.Descriptors] are for models. [Descriptor.Schema] and the descriptions of [Box.Snapshot] are the owner's.
// [Descriptor.Changes] lists the differences. A tool that cannot be adapted is not shown to models, because one such
// tool makes a provider refuse the whole request. Excluded has the reason. [Box.Findings] reports whether there are too
// many tools.
//
// # Live
//
// A [Snapshot] never changes, and a source returns the same pointer until there is a new snapshot. Watch reports new
// snapshots. A Box and a Join follow their sources. Getting a snapshot costs a pointer comparison for each source, and
// a call costs one more map look-up. Sources are merged again only after one of them has changed. Tools are in the
// order of the sources, then in each source's own order, so that unchanged tools keep their place.
//
// # Access of local tools
//
// A [Context] holds a directory (an [FS]), a [Shell], a budget, and a record of files already read. [NewContext] makes
// a context for a real directory. A Registry without a Context uses the zero Context, which refuses everything. No name
// leads out of a [DirFS], neither by ".." nor by symlinks. [LocalShell] confines nothing. A tool that changes files
// holds [Context.Change] from reading the file until it is written. [Context.WasRead] reports whether the caller knows
// the content that it is about to replace.
//
// # Concurrency
//
// All methods of Registry, Box, Result, Context and Watchers, and of the FS and Shell of this package, are safe for
// concurrent use. Snapshots, descriptors and results are shared and read-only, including their bytes. The functions
// given to Watch run in the goroutine that made the change, with no lock held. This package starts no goroutine that
// outlives a call.
//
// A tool runs in the goroutine of its caller and may run in many at once. Its own Context, including Report, ends with
// the call.
//
// # Errors
//
// A tool that ran and failed is a Result with IsError true, never an error. A Registry makes such a result of every
// error that a tool returns, and of its panics. The errors of Do are [*UnknownTool], the context's own error if that
// ended the call, and the faults of other sources. Files outside the directory are refused with [ErrOutside]. A missing
// FS or Shell is refused with [ErrAbsent].
//
// # Testing
//
// A Registry is a Source without a network, so a Registry with a [Define] or two is a fake server. [NewContext] over
// t.TempDir gives real files. [BoxOptions.Around] lets a test observe or refuse a call.
package toolbox
