package standard

import (
	"encoding/json"

	"github.com/indusagi/indus/toolbox"
)

// Deck is the complete set of tools of one session, with what they keep between calls: running processes and the task list.
// All methods are safe for concurrent use.
type Deck struct {
	options   Options
	processes *processes
	todo      todo
}

// Options say what a [Deck]'s tools may do. The zero value is good.
type Options struct {
	// AllowPrivate lets webfetch reach private, loopback and link-local addresses. false: public ones only.
	AllowPrivate bool
}

// New is a deck. Nothing runs before a tool is called; [Deck.Close] ends what its tools have started.
func New(o *Options) *Deck {
	d := &Deck{processes: newProcesses()}
	if o != nil {
		d.options = *o
	}
	return d
}

// Tools are all tools, in the order in which a model is best shown them.
func (d *Deck) Tools() []toolbox.Tool {
	return append(ReadOnly(), Bash(), d.processes.tool(), d.todo.tool())
}

// Close ends every process that a call of the deck's tools has started, and returns when all are gone. Calls of bash
// end with their own contexts. It may be called twice.
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
