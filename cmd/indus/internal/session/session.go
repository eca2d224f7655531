package session

import (
	"context"
	"errors"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/toolbox"
	"github.com/indusagi/indus/toolbox/standard"
)

// session is everything that one run of the agent has. prompt, useModel, connect, disconnect and close are for one goroutine;
// what the others read of the fields is safe for concurrent use.
type session struct {
	id       string // of its transcript, for --resume
	dir      string // the working directory
	flags    *flags
	streams  show.Streams
	config   *mcpconfig.Config  // all that is configured; nil with --no-tools
	servers  *ledger.Attachment // nil with --no-tools
	local    *toolbox.Registry  // the built-in tools; nil with --no-tools
	deck     *standard.Deck     // what they keep; nil with --no-tools
	box      *toolbox.Box       // what the model is shown; nil with --no-tools
	provider agent.Provider
	agent    *agent.Session
}

// openSession is a session that is ready for its first prompt. ask asks a person for permission, nil: nobody can be asked; hear is
// given what happens in turns, nil: nobody listens. The caller closes it.
func openSession(ctx context.Context, f *flags, s show.Streams, ask func(context.Context, agent.Ask) (agent.Verdict, error), hear func(agent.Event)) (*session, error) {
	return nil, errors.New("indus cannot talk yet")
}

// prompt is one turn. What became of servers since the last one stands before text.
func (x *session) prompt(ctx context.Context, text string) (agent.Answer, error) {
	return x.agent.Prompt(ctx, text)
}

// useModel changes the model from the next turn on: PROVIDER/NAME, as --model has it.
func (x *session) useModel(name string) error { return errors.ErrUnsupported }

// connect starts a configured server that does not run, or that is down. It does not wait until it is ready.
func (x *session) connect(ctx context.Context, server string) error { return errors.ErrUnsupported }

// disconnect ends a server, whose tools go at once.
func (x *session) disconnect(server string) error { return errors.ErrUnsupported }

// close ends all that the session has started, and waits for it.
func (x *session) close() {}
