// Package ledger records which tools of which MCP servers are enrolled. It keeps a log of events and derives the
// present state from it.
//
// Begin with [Attach]. It mounts servers as [interop.Mount] does, enrolls the tools that they list, follows their
// changes, and writes all of it to a log:
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"log"
//
//		"github.com/indusagi/indus/interop/config"
//		"github.com/indusagi/indus/ledger"
//	)
//
//	func main() {
//		ctx := context.Background()
//		file, err := ledger.OpenFile(ctx, "ledger.jsonl", nil)
//		if err != nil {
//			log.Fatal(err)
//		}
//		a := ledger.Attach(ctx, ledger.Ledger{}, []config.Server{
//			{ID: "fs", Transport: config.Stdio{Command: "mcp-server-filesystem", Args: []string{"."}}},
//		}, &ledger.Options{Log: file, Policy: config.HoldChanges})
//		defer a.Close()
//		fmt.Println(a.Names(), a.Counts())
//	}
//
// # The log and its snapshot
//
// An [Entry] is one event. [Reduce] folds entries to a [Snapshot], and is the only function that does. A [Ledger] is a
// log and its snapshot as one value. Its methods return new ledgers. These functions do no I/O and do not read the
// clock.
//
// [Log] stores entries. [File] is a Log that any number of processes share. Every entry belongs to a run, and an entry
// of one run does not retire a tool of another. [Runs] separates the runs, and [Live] returns the tools that are live
// in any of them. [Until] returns the log up to a time. [Diff] returns the changes between two times, down to the words
// of a description and the places of a schema. A [State] holds the knowledge about servers that do not run: the
// approvals, the last list of each server, and its description ([Attachment.Describe]).
//
// # Changed tools
//
// A tool that is approved and then changes is the oldest trick against users of MCP servers. The first listing of a
// server approves its tools, and enrolls the server. Later the [config.ChangePolicy] decides about a tool that is new,
// or that differs in any byte of its object. The stricter of [config.Server.Changes] and Options.Policy applies.
// [Changed], [Approved] and [Approve] let a person decide. If the log was removed ([File.Removed]), no listing approves
// anything.
//
// An approval is for the tool of a server under the server's own name. The rules of the configuration
// ([config.ToolRules]) do not matter: a tool that is denied for a while, or renamed, keeps its approval and its key.
// Only a description that the configuration puts in place of the server's own is part of the [Fingerprint]. If it
// changes, the server counts as configured anew.
//
// # Reload
//
// [Attachment.Apply] gives an attachment other servers, and no call fails because of it. The log gets a [Reload], and
// entries for the tools of each server. If a server goes on with another configuration, its tools are enrolled again
// with that configuration, and not retired in between.
//
// # The file
//
// A [File] is JSON Lines. Each line has the hash of the line before it. [File.Verify] reports the lines that were
// altered. A tool object is in a file once, however often it is enrolled. Entries are never dropped: each run adds
// about 500 bytes for each tool that it enrolls.
//
// At 2 MiB the file becomes an archive, ledger.jsonl.N, where N is the number of its last entry. The new file begins
// with an [Archive] entry, whose Prev is the hash of that last entry. It holds the lines that the present depends on:
// the approvals, the last list of each server, and the runs that go on. So a start costs the same however long the
// history is. [File.Read] reads the log alone. [File.History] and Verify read the archives too. An archive may be moved
// away: then the history begins after it, and Verify reports it.
//
// Any process that may write the file can replace all of it. To notice that, keep a [Head] elsewhere.
//
// # The log of a cluster
//
// A [Shared] is the log of several machines, in a package cluster. Its records have the same lines, its archives are
// records too, and a start reads from the newest archive on. It decides which listing of a server is the first: a
// process enrolls a server only if no other process was faster. Under [config.HoldChanges], an attachment lists a new
// server's tools once the log has them. While the cluster cannot be reached, nothing is newly approved: approved tools
// stay, held tools stay held, and entries wait. A run whose process is gone ends when its lease has expired. If it goes
// on nevertheless, it is recorded again.
//
// # Concurrency
//
// Values (Entry, Snapshot, Ledger, Capability) are immutable and may be shared. Do not change their contents. The
// methods of File and Attachment may be called from any goroutine. Several processes may use Files of the same path. An
// append locks the log for as long as it takes to write and sync one batch. An attachment never waits for the log: one
// goroutine writes all waiting entries as one batch. [Attachment.Flush] and Close wait for that.
//
// # Errors
//
// The contents of a log never cause an error. A line that is torn, altered or not an entry is a [Damage]: it is skipped
// and reported on request. Reduce and ContentKey are defined for every input. Errors come from the file system and from
// contexts, and begin with "ledger: ". Attach and Detach never fail: the fault of a server is in its status. A log that
// cannot be written is reported to the logger and by Flush. If a log cannot be read, or its first entry is damaged, a
// first listing approves no tools.
//
// # Testing
//
// Package interop/interoptest has servers in memory to attach. A test can use a File in its temporary directory as the
// log.
package ledger
