// Package standard is the tools that a coding agent expects. Make a [Deck] for a session and add its tools to a
// registry, or take those that only read with [ReadOnly]:
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
//		files := toolbox.NewRegistry(here)
//		files.Add(standard.ReadOnly()...)
//		box := toolbox.NewBox(nil, files)
//		out := box.Run(context.Background(), toolbox.Call{
//			Name:  "grep",
//			Input: json.RawMessage(`{"pattern":"func main","glob":"*.go"}`),
//		})
//		fmt.Println(out.Text())
//	}
//
// # What they touch
//
// Files: nothing but the [toolbox.FS] of their context. Paths are relative to its directory, or
// absolute and inside it; a path that leads out, and a symlink that does, is an error
// that says so. Searches follow no symlinks.
//
// write and edit change an existing file only if it was read in the same context, be it a few lines of it, and holds what it
// held then; after a change it counts as read. They write nothing of version control's own (.git and its like, by whatever
// name): a hook or a setting there is a command, which the next "git status" runs without asking anybody.
//
// Commands: what the user may touch. bash and process start in the directory or below it, in the [toolbox.Shell] of the
// context, which confines nothing. What bash starts ends with its command, what process starts with [Deck.Close], and both
// when the program dies. On Linux so does what makes a session of its own (setsid, a daemon), with its process or with [Deck.Close], unless it
// drops the variable INDUS_WATCH; elsewhere it outlives them.
//
// The web: webfetch gets pages with http and https, follows 5 redirects within a site (of one that leads
// to another it says where to) and sends nothing of the user's. It dials
// addresses of the public internet only, whatever the URL, a redirect or DNS says, because it looks at the address that is
// dialled: none that is private, loopback, link-local, shared, reserved, an IPv4 address inside an IPv6 one, or in a network
// that this machine is in. The environment's proxies would dial in its place, and are not used.
// [Options.AllowPrivate] lifts that, and takes the proxies.
//
// [Harmless] says which calls need nobody's permission.
//
// # Bounds
//
// Everything is bounded: lines, their length, files, directories, depth, and the whole by
// the context's budget, a little below it, so that a box has nothing to cut. Files of more than 8 MiB are not changed, and
// 300 lines of a diff are shown. What is
// left out is said, with how much it is, in a last line in parentheses. Of a command's output the beginning and the end are
// kept, of a page 5 MiB (of HTML 2) are read. Searches
// enter neither .git, .hg, .svn, .jj (not worth a word) nor node_modules (which
// is said), unless they start there.
//
// What git ignores is left out of ls, grep and find, and how many entries that were is said: by each .gitignore between the
// context's directory and the entry, and .git/info/exclude; not by those above the directory, and not by the user's own.
// It need not be a repository; what is tracked all the same is left out too. "ignored": true includes them, and a path that is
// ignored itself is shown as it is.
//
// A name that cannot be on one line (line breaks, control characters, bytes that are
// not UTF-8) is shown quoted as in Go, and text that is not UTF-8 with U+FFFD.
//
// # Concurrency
//
// All tools may run in many goroutines at once. The processes and the list of todo are the deck's, the rest keeps nothing
// between calls. Each ends soon after its context, whatever it is in the middle of, but for a file system
// that hangs, and a page's HTML, which takes seconds at most. A deck has one goroutine, and what its shell needs, for each
// process that runs.
//
// Of the calls that change files one at a time runs in a context, so that no edit is lost, and a file is
// replaced at once; what another program writes between the look at a file and its replacement is lost.
//
// # Errors
//
// What goes wrong is an error result in words meant for a model, with names that are
// near a missing one. So is a command whose exit status is not 0, with its output, and a page whose status is 400 or above.
// Finding nothing is not an error. A context that ends is the
// call's error.
//
// # Testing
//
// [toolbox.NewContext] over t.TempDir is all it takes; a [toolbox.Shell] of one's own in its place stands for commands.
package standard
