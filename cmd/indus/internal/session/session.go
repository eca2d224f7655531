package session

import (
	"context"
	"os"
	"path/filepath"
	"sync"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/cmd/indus/internal/signin"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/toolbox"
	"github.com/indusagi/indus/toolbox/standard"
)

// session is everything that one run of the agent has. prompt, useModel, connect, disconnect and close are for one goroutine;
// what others read of the fields is safe for concurrent use.
type session struct {
	id         string // of its transcript, for --resume
	dir        string // the working directory, its symbolic links resolved
	private    string // why looks at its files are questions; "": they are not
	flags      *flags
	streams    show.Streams
	config     *mcpconfig.Config // all that is configured; with --no-tools nothing, and so are all up to offer
	servers    *ledger.Attachment
	signIns    *signin.Tokens    // to servers
	log        ledger.Log        // of servers; nil: none is kept
	local      *toolbox.Registry // the built-in tools
	deck       *standard.Deck    // what they keep
	refusal    refusal           // of their calls
	offer      *offer            // what the model is shown
	person     *person           // at the terminal; nil: nobody can be asked
	target     target            // the model
	provider   model             // which reaches it; of other goroutines see currentModel
	agent      *agent.Session
	transcript *agent.Transcript // nil: it is not kept
	hear       func(agent.Event)
	guide      string          // the project's AGENTS.md, approved; "": there is none
	told       map[string]seen // what the model knows of the servers
	instructed []string        // the servers whose words it has

	mu sync.Mutex // guards changes of provider
}

// openSession is a session that is ready for its first prompt. p is asked for permission and by servers, nil: nobody can be asked;
// hear is given what happens in turns, nil: nobody listens. The caller closes it.
func openSession(ctx context.Context, f *flags, s show.Streams, p *person, hear func(agent.Event)) (*session, error) {
	x := &session{flags: f, streams: s, person: p}
	if err := x.boot(ctx, hear); err != nil {
		x.close()
		return nil, err
	}
	return x, nil
}

// boot brings the parts up in their order: what can be mistyped first, and the briefing when all that it names is there.
func (x *session) boot(ctx context.Context, hear func(agent.Event)) (err error) {
	if x.dir, err = workingDirectory(); err != nil {
		return err
	}
	if x.target, err = x.flags.target(""); err != nil {
		return err
	}
	x.streams.Learn(x.target.key)
	x.provider = x.target.provider()
	if x.id, err = x.identity(); err != nil {
		return err
	}
	x.hear = hear
	if err := x.graft(ctx); err != nil {
		return err
	}
	if x.guide, err = x.readGuide(ctx); err != nil {
		return err
	}
	return x.begin(ctx)
}

// begin begins the conversation that the session's id names, or goes on with it.
func (x *session) begin(ctx context.Context) error {
	if err := x.record(ctx); err != nil {
		return err
	}
	o := agent.Options{Provider: x.provider, Tools: x.offer.box, Hear: x.hear, Steps: x.flags.steps, Context: x.flags.contextOf(x.target)}
	if x.transcript != nil {
		o.Journal, o.History = x.transcript, x.transcript.Entries()
	}
	x.instructed = nil
	_, x.told = x.look()
	o.System = x.briefing()
	x.agent = agent.New(o)
	return nil
}

// renew begins another conversation. The one before is kept.
func (x *session) renew(ctx context.Context) error {
	before, id, resume, said := x.transcript, x.id, x.flags.resume, x.hasSaid()
	x.flags.resume, x.id, x.transcript = "", string(ledger.NewKey()), nil
	if err := x.begin(ctx); err != nil {
		x.flags.resume, x.id, x.transcript = resume, id, before
		return err
	}
	endTranscript(before, id, said)
	return nil
}

// hasSaid reports whether there is anything to go on with.
func (x *session) hasSaid() bool { return x.agent != nil && len(x.agent.Messages()) > 0 }

// graft puts the servers' tools beside the built-in ones, each behind its guard.
func (x *session) graft(ctx context.Context) error {
	if err := x.deal(); err != nil {
		return err
	}
	if err := x.attach(ctx); err != nil {
		return err
	}
	p := x.permissions()
	x.offer = newOffer(agent.Guard(x.local, p.Permit), agent.Guard(x.servers, p.Permit), x.flags.budget, x.provider.Profile())
	x.reportCatalogue()
	return nil
}

// reportCatalogue says that a model is shown four tools in the place of many.
func (x *session) reportCatalogue() {
	if x.offer.catalogue {
		x.streams.Reportf("the servers' tools are too many to be shown at once (see --tool-budget): search, schema, call and batch find and run them")
	}
}

// workingDirectory is where tools work and by which approvals are kept: one directory has one name.
func workingDirectory() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// prompt is one turn. What became of servers since the last one stands before text.
func (x *session) prompt(ctx context.Context, text string) (agent.Answer, error) {
	if x.offer.arrange() {
		x.reportCatalogue()
		x.agent.Use(x.provider, x.offer.box)
	}
	if news := x.news(); news != "" {
		text = news + "\n\n" + text
	}
	a, err := x.agent.Prompt(ctx, text)
	if err != nil {
		return a, x.explain(err)
	}
	return a, nil
}

// useModel changes the model from the next turn on: PROVIDER/NAME, as --model has it.
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
	x.offer.use(x.provider.Profile())
	x.agent.Use(x.provider, x.offer.box)
	return nil
}

// currentModel is the model of the moment, for any goroutine.
func (x *session) currentModel() agent.Provider {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.provider
}

// close ends all that the session has started, and waits for it.
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
	endTranscript(x.transcript, x.id, x.hasSaid())
}
