// Package toolbox is tools, and how they are called: by a program or a protocol
// with Do, which is exact, and by a model with Run, which never fails. It knows no
// MCP, no model and no provider.
//
// Put local tools into a [Registry], put registries and whatever else is a [Source]
// (a mounted fleet of MCP servers, another box) into a [Box], show a model what
// [Box.Descriptors] has, and hand what the model asks for to [Box.Run]; where no model
// is near, as in a host, [Join] makes one source of several:
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
//		box := toolbox.NewBox(nil, local)
//
//		for _, d := range box.Descriptors() {
//			fmt.Println(d.Name, string(d.Parameters)) // for the model
//		}
//		out := box.Run(context.Background(), toolbox.Call{
//			Name:  "ls",
//			Input: json.RawMessage(`{"path":"."}`), // from the model
//		})
//		fmt.Println(out.Text())
//	}
//
// A tool of one's own is a [Define] over Go types, whose schemas are inferred, or a [Tool]
// with a schema written by hand. What does not fit a tool's schema never runs.
// [Image], [Audio], [Link] and [Embedded] are blocks of a result that are no text.
//
// # Asking the client
//
// A tool that a client of a host calls may ask the person behind it for a struct with [Elicit], and the client's model with
// [Sample]; it writes to the client's log with [Log] and reports progress with [Context.Report]. All take the context that the
// tool was given, and wait until there is an answer, whatever era of MCP the client speaks. Who declines, dismisses or cannot be
// asked are three errors: [ErrDeclined], [ErrDismissed], [ErrCannotAsk]. [Context.Session] names the client's session and says
// when it ends.
//
// # Do and Run
//
// Do is exact in both directions: the input goes out byte for byte and the [Result] is its
// owner's, undecoded until somebody looks inside. An unknown name and a fault are
// errors.
//
// Run is for models: arguments that came as a string are parsed, none at all are {}. They
// are turned from what the model was shown into what the owner's schema asks for, and
// checked against that: an error says what to mend. What the tool gave is projected to
// one JSON value and cut in the middle to the budget, and whatever goes wrong is an
// [Outcome] that says so.
//
// # For models
//
// [BoxOptions.Profile] says which provider's rules a tool has to keep; without it each
// tool's own [Descriptor.Profile] does. A Box brings the
// schemas and the descriptions into that shape: [Descriptor.Parameters] and what
// [Box.Descriptors] gives are for models, [Descriptor.Schema] and the descriptions of
// [Box.Snapshot] are the owner's, and [Descriptor.Changes] is what parts them. A tool that
// cannot be brought into the shape is not shown to models, for one such tool makes a
// provider refuse the whole request; Excluded has the reason. [Box.Findings] says whether
// there are too many.
//
// # Live
//
// A [Snapshot] never changes, and is the same pointer until there is a new one; Watch tells of
// that. A Box and a Join follow their sources. Asking one costs a pointer comparison for each source,
// and a call one map look-up more: sources are merged again only after one of them
// has changed. Order is that of the sources, then each source's own, so that
// what did not change stays where it was.
//
// # What local tools may touch
//
// A [Context] is a directory by its [FS], a [Shell], a budget, and what was read before.
// [NewContext] makes one of a real directory; the zero Context, which is what a
// Registry without one has, refuses everything. [DirFS] cannot be left, by ".." or by
// symlinks. [LocalShell] confines nothing. A tool that changes files holds [Context.Change] from its look at one until that
// is written, and [Context.WasRead] says whether the caller knows what it is about to replace.
//
// # Concurrency
//
// All methods of Registry, Box, Result, Context and Watchers, and of the FS and
// Shell of this package, are safe for concurrent use. Snapshots, descriptors and results are
// shared and read-only, down to the bytes they hold. The functions given to Watch
// run in the goroutine that made the change, with no lock held. This package starts no
// goroutine that outlives a call.
//
// A tool runs in the goroutine of its caller and may run in many at once. Its own
// Context, and with it Report, ends with the call.
//
// # Errors
//
// A tool that ran and failed is a Result whose IsError is true, never an error: a
// Registry makes one of whatever a tool returns as an error, and of its panics. Do's
// errors are an [*UnknownTool], the context's own error where that ended the call, and
// from other sources their faults. Files refuse with [ErrOutside], and
// files and a shell that there are not with [ErrAbsent].
//
// # Testing
//
// A Registry is a Source without a network: a fake server is a Registry with a
// [Define] or two. [NewContext] over t.TempDir gives real files. Wrap a call with
// [BoxOptions.Around] to see or refuse it.
package toolbox
