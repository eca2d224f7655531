package serve

import (
	"context"
	"fmt"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/history"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/ledger"
)

// alarm reports the tools that are not what they were when they were approved, a
// line each, once. Of a server that goes on changing them it soon says no more for a
// while, so that one cannot drown what is said of the others.
type alarm struct {
	attached *ledger.Attachment
	log      ledger.Log // nil: what the attachment itself remembers
	accept   string     // the command by which a person accepts; "" where there is none
	s        show.Streams
	reported map[command.Version]bool
	bursts   bursts
	mute     bool // nobody knows what was approved, and that was reported
}

// maxAlarms is how many changes of one server's tools are reported before it is
// quiet.
const maxAlarms = 20

// alarmWait bounds the reading of what was approved; without it a line says less.
const alarmWait = 10 * time.Second

// watch reports them until stop is called.
func (a *alarm) watch() (stop func()) {
	news := make(chan struct{}, 1)
	wake := func() {
		select {
		case news <- struct{}{}:
		default:
		}
	}
	deaf := a.attached.Watch(wake)
	wake()
	end := inBackground(context.Background(), func(ctx context.Context) {
		for {
			select {
			case <-news:
				a.look(ctx)
			case <-ctx.Done():
				return
			}
		}
	})
	return func() { deaf(); end() }
}

func (a *alarm) look(ctx context.Context) {
	if a.mute {
		return
	}
	now, news := map[command.Version]bool{}, []ledger.Entry(nil)
	for _, e := range a.attached.Changed() {
		v := command.VersionOf(e)
		now[v] = true
		if a.reported[v] {
			continue
		}
		switch n := a.bursts.count(e.Server); {
		case n < maxAlarms:
			news = append(news, e)
		case n == maxAlarms:
			a.s.Reportf("%s: more of its tools are not what they were when they were approved; of them nothing is said for a minute", e.Server)
		}
	}
	a.reported = now
	if len(news) == 0 {
		return
	}
	entries := a.story(ctx)
	for _, e := range news {
		what := ""
		if was, ok := ledger.Approved(entries, e); ok {
			what = ": " + history.ChangedPlaces(history.Differences(was, e))
		}
		a.s.Reportf("%s", e.Name+" is not what it was when it was approved"+what+"; "+a.advice(e))
	}
}

// story is what is known of earlier versions.
func (a *alarm) story(ctx context.Context) []ledger.Entry {
	own := a.attached.Ledger().Log()
	if a.log == nil {
		return own
	}
	ctx, cancel := context.WithTimeout(ctx, alarmWait)
	defer cancel()
	_ = a.attached.Flush(ctx)
	entries, err := a.log.Read(ctx, 0)
	if err != nil {
		return own
	}
	return entries
}

// advice is what became of a tool, and what a person can do.
func (a *alarm) advice(e ledger.Entry) string {
	state := "it is live all the same"
	if e.Op == ledger.Hold {
		state = "it is kept back"
		if a.attached.Policy(e.Server) == ledger.DenyChanges {
			state += " for as long as this indus serve runs"
		}
	}
	if a.accept == "" {
		return state
	}
	return fmt.Sprintf("%s; see what changed, and accept it: %s", state, a.accept)
}
