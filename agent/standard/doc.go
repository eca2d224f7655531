// Package standard provides the standard tools of a coding agent. Make a [Deck] for a session and add its tools to a
// registry, or use only the reading tools with [ReadOnly]:
//
//	files := toolbox.NewRegistry(here) // here, err := toolbox.NewContext(".")
//	files.Add(standard.ReadOnly()...)
//	box := toolbox.NewBox(nil, files)
//	out := box.Run(ctx, toolbox.Call{
//		Name:  "grep",
//		Input: json.RawMessage(`{"pattern":"func main","glob":"*.go"}`),
//	})
//	fmt.Println(out.Text())
//
// # Access
//
// Files: the tools access only the [toolbox.FS] of their context. Paths are relative to its directory, or absolute and
// inside it. A path or a symlink that leads out is an error with an explanation. Searches follow no symlinks.
//
// write and edit change an existing file only if at least some of its lines were read in the same context, and its
// content has not changed since. After a change the file counts as read. write and edit refuse the files of version
// control (.git and similar directories, under any name). A hook or a setting there is a command, which the next "git
// status" runs without asking.
//
// Commands: they may do everything that the user may do. The tools bash and process start commands in the directory or
// below it, in the [toolbox.Shell] of the context. The shell confines nothing. Commands of bash end with the call,
// commands of process end with [Deck.Close], and both end when the program dies. On Linux this includes a child with a
// session of its own (setsid, a daemon). It ends when its process is stopped or with [Deck.Close], unless it drops the
// variable INDUS_WATCH. On other systems it keeps running.
//
// The web: webfetch gets pages with http and https. It follows 5 redirects within a site, reports the target of a
// redirect to another site, and sends no data of the user. It dials only addresses of the public internet, regardless
// of the URL, redirects and DNS, because it checks each address when it is dialled. It refuses private, loopback,
// link-local, shared and reserved addresses, IPv4 addresses inside IPv6 addresses, and addresses in a network of this
// machine. The environment's proxies are not used, because a proxy would dial in its place. [Options.AllowPrivate]
// lifts these restrictions and uses the proxies.
//
// [Harmless] reports which calls need no permission.
//
// # Bounds
//
// Everything is bounded: lines, their length, files, directories and depth. The whole result stays a little below the
// context's budget, so that a box has nothing to cut. Files of more than 8 MiB are not changed, and 300 lines of a diff
// are shown. A last line in parentheses reports how much was left out. Of a command's output the beginning and the end
// are kept. Of a page 5 MiB are read, and 2 MiB if it is HTML. Searches do not enter .git, .hg, .svn, .jj and
// node_modules, unless they start there. Only a skipped node_modules is reported.
//
// ls, grep and find leave out files that git ignores, and report the number of these entries. The rules come from each
// .gitignore between the context's directory and the entry, and from .git/info/exclude. Rules above the directory and
// the user's own rules do not apply. The directory need not be a repository. Ignored files are left out even if they
// are tracked. "ignored": true includes them. A path that is itself ignored is shown as usual.
//
// A name that does not fit on one line (line breaks, control characters, bytes that are not UTF-8) is shown quoted as
// in Go. In text, invalid UTF-8 is shown as U+FFFD.
//
// # Concurrency
//
// All tools may run in many goroutines at once. The deck keeps the processes and the task list; the other tools keep
// nothing between calls. Each call ends soon after its context. The exceptions are a file system that hangs, and the
// conversion of a page's HTML, which takes seconds at most. A deck has one goroutine for each running process, and the
// goroutines of its shell.
//
// In each context, one call at a time changes files, so that no edit is lost. A file is replaced atomically. Changes of
// other programs between the check of a file and its replacement are lost.
//
// # Errors
//
// A failure is an error result with a text for a model. For a missing name the text lists similar names. A command with
// an exit status other than 0 is an error result with its output, and so is a page with a status of 400 or above. A
// search without results is not an error. If the context ends, the call returns the context's error.
//
// # Testing
//
// A test can use [toolbox.NewContext] over t.TempDir. For commands it can use its own [toolbox.Shell] instead.
package standard
