package session

import (
	"context"
	"sync"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/agent/standard"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/cmd/indus/internal/signin"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/toolbox"
)

// session is the state of one run of the agent. Only one goroutine may call prompt, useModel, connect, disconnect and
// close. Fields that other goroutines read are safe for concurrent use.
type session struct {
	id                string // the id of its transcript, for --resume
	dir               string // the working directory without symbolic links
	private           string // the reason for which reads of files must ask; "" if they need not
	flags             *flags
	streams           show.Streams
	config            *mcpconfig.Config // the whole configuration; empty with --no-tools, as are the fields up to offer
	servers           *ledger.Attachment
	signIns           *signin.Tokens    // sign-ins at servers
	log               ledger.Log        // of servers; nil if no ledger is kept
	local             *toolbox.Registry // the built-in tools
	deck              *standard.Deck    // the state of the built-in tools
	refusal           refusalFunc       // for calls of built-in tools
	offer             *offer            // the tools that the model sees
	person            *person           // at the terminal; nil if no user can be asked
	target            target            // the model
	provider          model             // the client of the model; other goroutines use currentModel
	agent             *agent.Session
	transcript        *agent.Transcript // nil if it is not stored
	onEvent           func(agent.Event)
	guide             string                 // the project's approved AGENTS.md; "" if there is none
	reportedStates    map[string]serverState // the state of servers that the model knows
	instructedServers []string               // servers whose instructions the model has received

	mu sync.Mutex // guards changes of provider
}

// openSession returns a session that is ready for its first prompt. p answers questions about permission and questions
// of servers. It is nil if no user can be asked. onEvent receives the events of turns, and may be nil. The caller must
// close the session.
func openSession(
	ctx context.Context, f *flags, s show.Streams, p *person, onEvent func(agent.Event),
) (*session, error) {
	x := &session{flags: f, streams: s, person: p}
	if err := x.start(ctx, onEvent); err != nil {
		x.close()
		return nil, err
	}
	return x, nil
}

// start starts the parts in order. Values that may be mistyped come first, and the briefing last, because it names all
// parts.
func (x *session) start(ctx context.Context, onEvent func(agent.Event)) (err error) {
	if x.dir, err = command.WorkingDirectory(); err != nil {
		return err
	}
	if x.target, err = x.flags.target(""); err != nil {
		return err
	}
	x.streams.Learn(x.target.key)
	x.provider = x.target.provider()
	if x.id, err = x.resolveID(); err != nil {
		return err
	}
	x.onEvent = onEvent
	if err := x.buildOffer(ctx); err != nil {
		return err
	}
	if x.guide, err = x.readGuide(ctx); err != nil {
		return err
	}
	return x.beginConversation(ctx)
}

// beginConversation starts the conversation with the session's id, or continues it.
func (x *session) beginConversation(ctx context.Context) error {
	if err := x.openTranscript(ctx); err != nil {
		return err
	}
	o := agent.Options{
		Provider: x.provider, Tools: x.offer, Hear: x.onEvent, Steps: x.flags.steps, Context: x.flags.contextOf(x.target),
	}
	if x.transcript != nil {
		o.Journal, o.History = x.transcript, x.transcript.Entries()
	}
	x.instructedServers = nil
	_, x.reportedStates = x.serverStates()
	o.System = x.briefing()
	x.agent = agent.New(o)
	return nil
}

// restart begins a new conversation. The previous one stays stored.
func (x *session) restart(ctx context.Context) error {
	before, id, resume, hadMessages := x.transcript, x.id, x.flags.resume, x.hasMessages()
	x.flags.resume, x.id, x.transcript = "", string(ledger.NewKey()), nil
	if err := x.beginConversation(ctx); err != nil {
		x.flags.resume, x.id, x.transcript = resume, id, before
		return err
	}
	endTranscript(before, id, hadMessages)
	return nil
}

// hasMessages reports whether the conversation has any messages.
func (x *session) hasMessages() bool { return x.agent != nil && len(x.agent.Messages()) > 0 }

// buildOffer adds the servers' tools to the built-in tools, each behind a guard.
func (x *session) buildOffer(ctx context.Context) error {
	if err := x.createBuiltins(); err != nil {
		return err
	}
	if err := x.attach(ctx); err != nil {
		return err
	}
	p := x.permissions()
	x.offer = newOffer(agent.Guard(x.local, p.Permit), agent.Guard(x.servers, p.Permit), x.flags.budget,
		x.provider.Profile())
	x.offer.overflowed = x.reportCatalogue
	x.reportCatalogue()
	return nil
}

// reportCatalogue reports that the model sees the four tools of the catalog instead of all tools.
func (x *session) reportCatalogue() {
	if x.offer.catalogue {
		x.streams.Reportf(
			"the servers' tools are too many to be shown at once (see --tool-budget): search, schema, call and batch find " +
				"and run them")
	}
}

// prompt runs one turn. News about servers precede the text.
func (x *session) prompt(ctx context.Context, text string) (agent.Answer, error) {
	if news := x.describeNews(); news != "" {
		text = news + "\n\n" + text
	}
	a, err := x.agent.Prompt(ctx, text)
	return a, x.explain(err)
}

// useModel changes the model from the next turn on. The name is PROVIDER/NAME, as for --model.
func (x *session) useModel(name string) error {
	t, err := x.flags.target(name)
	if err != nil {
		return err
	}
	x.streams.Learn(t.key)
	x.mu.Lock()
	x.target, x.provider = t, t.provider()
	x.mu.Unlock()
	x.agent.UseContext(x.flags.contextOf(t))
	x.offer.setProfile(x.provider.Profile())
	x.agent.Use(x.provider, x.offer)
	return nil
}

// currentModel returns the current model. Any goroutine may call it.
func (x *session) currentModel() agent.Provider {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.provider
}

// close ends everything that the session has started, and waits for it.
func (x *session) close() {
	if x.deck != nil {
		x.deck.Close()
	}
	if x.servers != nil {
		x.servers.Close()
	}
	if x.signIns != nil {
		x.signIns.Close()
	}
	endTranscript(x.transcript, x.id, x.hasMessages())
}
