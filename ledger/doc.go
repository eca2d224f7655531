// Package ledger keeps account of which tools of which MCP servers are enrolled: a
// log of what happened, and what it comes to.
//
// Reach for [Attach] first. It mounts servers as [interop.Mount] does, enrolls what
// they list, follows what becomes of them, and writes all of it to a log:
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"log"
//
//		"github.com/indusagi/indus/interop"
//		"github.com/indusagi/indus/ledger"
//	)
//
//	func main() {
//		ctx := context.Background()
//		file, err := ledger.OpenFile(ctx, "ledger.jsonl", nil)
//		if err != nil {
//			log.Fatal(err)
//		}
//		a := ledger.Attach(ctx, ledger.Empty(), []interop.Server{
//			{ID: "fs", Transport: interop.Stdio{Command: "mcp-server-filesystem", Args: []string{"."}}},
//		}, &ledger.Options{Log: file, Policy: interop.HoldChanges})
//		defer a.Close()
//		fmt.Println(a.Names(), a.Counts())
//	}
//
// # The log and what it comes to
//
// An [Entry] is one event. [Reduce] folds entries to a [Snapshot], and is the only
// way there; a [Ledger] is a log and its snapshot as one value, whose transitions
// give new ones. Nothing of this does I/O or knows the time.
//
// [Log] is where entries are kept; [File] is one, that any number of processes share.
// Every entry has its run, and what one run retires is nothing to another: [Runs]
// parts them, [Live] is what is live in any of them, [Until] is the log as it was at
// a time, and [Diff] is what changed between two times, down to the words of a
// description and the places of a schema. A [State] is what is remembered of servers that do
// not run: what is approved, what each listed last, and what it said of itself ([Attachment.Describe]).
//
// # Changed tools
//
// A tool that is approved and then changes is the oldest trick against users of MCP servers. The first listing of a
// server approves its tools, and enrolls the server. Later the [interop.ChangePolicy] decides about a tool that differs in any byte
// of its object, and about a tool that is new: the stricter of the server's own ([interop.Server.Changes]) and of
// Options.Policy. [Changed], [Approved] and [Approve] are for the person. If the log was removed ([File.Removed]), no
// listing approves anything.
//
// What is approved is a server's tool by the server's own name. What the configuration
// makes of it ([interop.ToolRules]) does not matter to that: a tool that is denied for a
// while, or renamed, keeps its approval and its key. Only a description that the
// configuration puts in the place of the server's own is part of the [Fingerprint],
// and with it the server is configured anew.
//
// # Reload
//
// [Attachment.Apply] gives an attachment other servers, and no call fails of it. The log
// has a [Reload], and of each server what becomes of it: tools of a server that goes on in
// another configuration are enrolled again, with that configuration, and not retired in
// between.
//
// # The file
//
// A [File] is JSON Lines. Each line has the hash of the one before; [File.Verify] names the lines that are not as they
// were written. A tool object is in a file once, however often it is enrolled. Entries are never dropped: each run adds
// about 500 bytes for each tool that it enrolls.
//
// At 2 MiB the file becomes an archive, ledger.jsonl.N, where N is the number of its last entry. The new file begins
// with an [Archive] entry, whose Prev is the hash of that one. It holds the lines on which the present depends: what is
// approved, what each server listed last, and the runs that go on. So a start costs the same however long the history
// is. [File.Read] reads the log alone; [File.History] and Verify read the archives too. An archive may be moved away:
// the history then begins behind it, and Verify reports it.
//
// Any process that may write the file can write all of it anew. To notice that, keep a [Head] elsewhere.
//
// # Concurrency
//
// Values (Entry, Snapshot, Ledger, Capability) are immutable and may be shared; what
// they hold must not be changed. The methods of File and Attachment may be called
// from any goroutine, and those of several Files from several processes. An append
// locks the log for as long as it takes to write and sync one batch. An attachment
// never waits for the log: one goroutine writes all that has happened meanwhile as
// one batch; [Attachment.Flush] waits for it, and Close does.
//
// # Errors
//
// Nothing that is in a log is an error: what is torn, altered or no entry at all is a [Damage], is read over and can be
// asked for. Reduce and ContentKey are defined for every input. Errors are those of the file system and of contexts,
// and begin with "ledger: ". Attach and Detach never fail: a server's fault is in its status, and a log that cannot be
// written is reported to the logger and by Flush. Where a log cannot be read, or its first entry is damaged, no tool
// counts as approved because it is listed for the first time.
//
// # Testing
//
// Package interop/interoptest has servers in memory to attach. A log of a test is a
// File in its temporary directory.
package ledger
