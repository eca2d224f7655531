package approvals

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/control/approval"
	"github.com/indusagi/indus/internal/watch"
	"github.com/spf13/cobra"
)

type watchFlags struct {
	asJSON bool
	seen   map[string]approval.State // of each item, at the last look
}

func newWatch(c *command.ClusterFlags, s show.Streams) *cobra.Command {
	f := watchFlags{seen: map[string]approval.State{}}
	cmd := command.New(s, withBook(c, f.run), cobra.Command{
		Use: "watch", Aliases: []string{"follow"},
		Short: "Follow the calls that wait, and decide them", Long: watchHelp,
	})
	cmd.Flags().BoolVar(&f.asJSON, "json", false,
		"print JSON Lines: an object for each call that waits, and for each change")
	return cmd
}

const watchHelp = `Follow the calls that wait for approval. On a terminal, each of them is shown, and you
are asked: y allows it, n denies it, and Enter leaves it waiting for another
answer. Otherwise it is a line for each call that waits, and one for each change. It
ends on Ctrl-C.

A session:
  $ indus approvals watch
  7K2F is waiting, until 2026-07-28 15:14:05, for another 9m59s
    server     github
    tool       merge
    caller     user:ann
    arguments  11 bytes, SHA-256 3f1c9c7a…
      {
        "pull": 42
      }
  allow 7K2F? [y/n] y
  indus: allowed 7K2F: merge of github, for user:ann until 2026-07-28 15:15:31

` + exitHelp

func (f *watchFlags) run(ctx context.Context, b *openBook, _ []string, s show.Streams) error {
	changed := make(chan struct{}, 1)
	defer b.Watch(func() { watch.Signal(changed) })()
	var p *person
	if !f.asJSON {
		p = newPerson(s)
	}
	var lines <-chan string
	if p != nil {
		lines = p.lines
	}
	for first := true; ; first = false {
		ended, err := f.look(ctx, b, first, p, s)
		if ctx.Err() != nil || ended {
			return nil // the normal end
		}
		if err != nil {
			return err
		}
		if first {
			if !slices.Contains(slices.Collect(maps.Values(f.seen)), approval.Waiting) {
				s.Reportf(noneWaits, b.flags.AbsentPlace())
			}
			s.Reportf("new calls that need approval follow; Ctrl-C ends")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case _, ok := <-lines: // typed while there was no question
			if !ok {
				return nil
			}
		}
	}
}

// look reports the items that changed since the last look. If p is not nil, it asks about those that wait. ended
// reports the end of the input.
func (f *watchFlags) look(
	ctx context.Context, b *openBook, first bool, p *person, s show.Streams,
) (ended bool, err error) {
	items, err := b.List(ctx, &approval.Filter{All: true})
	if err != nil {
		return false, fileError(err)
	}
	for _, i := range items {
		known := f.seen[i.ID]
		f.seen[i.ID] = i.State
		switch {
		case i.State == known, first && i.State != approval.Waiting:
		case p == nil:
			err = f.print(&i, s)
		case i.State == approval.Waiting:
			ended, err = f.decide(ctx, b, &i, p)
		}
		if ended || err != nil {
			return ended, err
		}
	}
	return false, nil
}

// print prints a line about an item.
func (f *watchFlags) print(i *approval.Item, s show.Streams) error {
	if f.asJSON {
		return show.PrintLine(s, i)
	}
	_, err := fmt.Fprintf(s.Out, "%s  %s  %s  %s  %s  %s  %s\n", time.Now().Format(show.TimeFormat), i.ID, i.State,
		describe.ShortName(i.Server), describe.ShortName(i.Tool), describe.ShortName(describe.Caller(i.Principal)),
		show.Escaped(show.CompactJSON(i.Shown)))
	return err
}

// decide asks about an item, unless it no longer waits, and stores the decision.
func (f *watchFlags) decide(
	ctx context.Context, b *openBook, i *approval.Item, p *person,
) (ended bool, err error) {
	now, err := b.Item(ctx, i.ID) // the answers to earlier questions took time
	if err != nil || now.State != approval.Waiting {
		return false, nil
	}
	switch answer, err := p.ask(ctx, b, &now); {
	case err != nil || answer == answerGone:
		return answer == answerGone, err
	case answer == answerLater:
		p.s.Reportf("%s still waits", i.ID)
	case answer == answerYes || answer == answerNo:
		if err := decide(ctx, b, i.ID, approval.Decision{Allow: answer == answerYes}, p.s); err != nil {
			p.s.Reportf("%s", err) // such as: it expired
		}
	}
	return false, nil
}
