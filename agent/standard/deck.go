package standard

import (
	"context"
	"encoding/json"

	"github.com/indusagi/indus/toolbox"
)

// Deck is the complete set of tools of one session, with their state between calls: running processes and the task
// list. All methods are safe for concurrent use.
type Deck struct {
	processes *processes
	todo      todo
	fetcher   *fetcher
}

// Options configure the permissions of a [Deck]'s tools. The zero value is valid.
type Options struct {
	// AllowPrivate lets webfetch reach all addresses, including private, loopback and link-local addresses, through the
	// proxies in HTTP_PROXY and HTTPS_PROXY. If it is false, webfetch reaches only public addresses and uses no proxy.
	AllowPrivate bool
}

// New returns a deck. Nothing runs before a tool is called. [Deck.Close] ends the processes that its tools have
// started.
func New(o *Options) *Deck {
	if o == nil {
		o = &Options{}
	}
	return &Deck{processes: newProcesses(), fetcher: newFetcher(*o)}
}

// Tools returns all tools, in the best order for a model: read, ls, grep, find, write, edit, bash, process, todo,
// webfetch.
//
// process keeps commands running. start runs a command, poll returns its output since the last poll, stop ends it, and
// list shows all processes. Up to 16 run at once, and the last 16 ended processes are kept. todo keeps the task list.
// webfetch gets a page as text.
func (d *Deck) Tools() []toolbox.Tool {
	return append(ReadOnly(), Write(), Edit(), d.bash(), d.processes.tool(), d.todo.tool(), d.fetcher.tool())
}

// bash returns [Bash] with strays that end with the deck.
func (d *Deck) bash() toolbox.Tool {
	t := Bash()
	run := t.Run
	t.Run = func(ctx context.Context, tc *toolbox.Context, input json.RawMessage) (*toolbox.Result, error) {
		return run(d.processes.bash.Within(ctx), tc, input)
	}
	return t
}

// Close ends every process that a call of the deck's tools has started, and returns when all are gone. On Linux this
// includes processes that left their session (setsid, a daemon). Calls of bash end with their own contexts. Close may
// be called twice.
func (d *Deck) Close() { d.processes.close() }

// ReadOnly returns the tools that change nothing and access nothing beyond this machine: read, ls, grep and find.
func ReadOnly() []toolbox.Tool {
	return []toolbox.Tool{Read(), Ls(), Grep(), Find()}
}

// Harmless reports whether a call of a deck's tool may run without asking a person. Such a call reads below the
// directory, or concerns only the session itself. Harmless examines only name and arguments, so the caller must know
// that the deck owns the name. It returns false for bash, write and edit, and for the start of a process. It also
// returns false for webfetch, because a URL can carry data out.
func Harmless(c toolbox.Call) bool {
	switch c.Name {
	case "read", "ls", "grep", "find", "todo":
		return true
	case "process":
		var in processInput
		if json.Unmarshal(c.Input, &in) != nil {
			return false
		}
		return in.Action == "list" || in.Action == "poll" || in.Action == "stop"
	}
	return false
}
