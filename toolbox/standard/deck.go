package standard

import (
	"context"
	"encoding/json"

	"github.com/indusagi/indus/toolbox"
)

// Deck is the complete set of tools of one session, with what they keep between calls: running processes and the task list.
// All methods are safe for concurrent use.
type Deck struct {
	processes *processes
	todo      todo
	fetcher   *fetcher
}

// Options say what a [Deck]'s tools may do. The zero value is good.
type Options struct {
	// AllowPrivate lets webfetch reach private, loopback, link-local and all other addresses, through the proxies that
	// HTTP_PROXY and HTTPS_PROXY name. false: public addresses only, and no proxy.
	AllowPrivate bool
}

// New is a deck. Nothing runs before a tool is called; [Deck.Close] ends what its tools have started.
func New(o *Options) *Deck {
	if o == nil {
		o = &Options{}
	}
	return &Deck{processes: newProcesses(), fetcher: newFetcher(*o)}
}

// Tools are all tools, in the order in which a model is best shown them: read, ls, grep, find, write, edit, bash, process,
// todo, webfetch.
//
// process keeps commands running: start runs one, poll gives what it has written since the last poll, stop ends it, list
// shows them; 16 run at once, and the last 16 that have ended are remembered. todo keeps the list of what is to be done.
// webfetch gets a page as text.
func (d *Deck) Tools() []toolbox.Tool {
	return append(ReadOnly(), Write(), Edit(), d.bash(), d.processes.tool(), d.todo.tool(), d.fetcher.tool())
}

// bash is [Bash], whose strays end with the deck.
func (d *Deck) bash() toolbox.Tool {
	t := Bash()
	run := t.Run
	t.Run = func(ctx context.Context, tc *toolbox.Context, input json.RawMessage) (*toolbox.Result, error) {
		return run(d.processes.bash.Within(ctx), tc, input)
	}
	return t
}

// Close ends every process that a call of the deck's tools has started, and returns when all are gone; on Linux also those
// that left their session (setsid, a daemon). Calls of bash end with their own contexts. It may be called twice.
func (d *Deck) Close() { d.processes.close() }

// ReadOnly are the tools that change nothing and leave this machine alone: read, ls, grep and find.
func ReadOnly() []toolbox.Tool {
	return []toolbox.Tool{Read(), Ls(), Grep(), Find()}
}

// Harmless reports whether a call of a deck's tool may run without asking anybody: it reads below the directory, or
// concerns nothing but the session itself. It goes by name and arguments alone, so that the caller must know that the deck owns
// the name. bash, write and edit never are, nor is a process to be started, nor webfetch: a URL can carry data out.
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
