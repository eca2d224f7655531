package interop

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
)

// MountOptions tune a mount. nil and the zero value are good.
type MountOptions struct {
	// Wait bounds how long Mount waits for servers. 0: until each is ready or
	// faulted; negative: not at all, and then a call to a server that is still
	// connecting waits for it.
	Wait time.Duration
	// Profile is how tools are shown to models. nil: [schema.Universal], which every
	// provider takes; [schema.Original] shows them as their owners wrote them, and
	// [schema.Seed] is the seeds' way.
	Profile *schema.Profile
	// Unvalidated lets [toolbox.Box.Run] send arguments that do not fit a tool's
	// schema, for the server to judge. false: a model is told how to mend its call.
	Unvalidated bool
	// Around wraps every call of a tool; the first is outermost.
	Around []func(next toolbox.Do) toolbox.Do
	// Budget bounds what [toolbox.Box.Run] gives a model, in bytes. 0: 64 KiB;
	// negative: no bound.
	Budget int
	// Endpoint gives the options of each new endpoint. nil: the zero options.
	Endpoint func(Server) *EndpointOptions
	// Restart says how dead connections are replaced.
	Restart Restart
	// Grace is how long a lost server's tools stay listed, and calls wait for it.
	// 0: 10 s; negative: not at all.
	Grace time.Duration
	// Known gives the tools that a server had when it last ran: they are listed, and
	// calls to them wait, until it answers itself. nil: nothing is known.
	Known func(server string) []toolbox.Wire
	// Events hears of everything that happens to servers, from the first attempt
	// on, as [Fleet.Events] tells it; it must not block. nil: nobody does.
	Events func(Event)
	// Logger hears of servers that come and go, and of more tools than the profile's
	// provider takes in one request ([toolbox.Box.Findings] says so too). nil: silent.
	Logger *slog.Logger
}

// Mounted is servers' tools as one toolbox, and the fleet behind it.
type Mounted struct {
	// Box has every tool of every ready server, and is live.
	Box *toolbox.Box
	// Fleet has each server's health, and takes new configurations.
	Fleet *Fleet
}

// Mount connects the servers and gives their tools as one toolbox. It never
// fails as a whole: a server that cannot be reached contributes no tools, and
// its fault stands in Fleet.Status. Mount returns once every server is ready or
// faulted, or MountOptions.Wait is over, or ctx has ended; ctx bounds that wait
// and nothing else. The caller closes what it gets.
func Mount(ctx context.Context, servers []Server, opts *MountOptions) *Mounted {
	if opts == nil {
		opts = &MountOptions{}
	}
	fleet := NewFleet(&FleetOptions{
		Endpoint: opts.Endpoint, Restart: opts.Restart, Grace: opts.Grace, Known: opts.Known,
		Hold: opts.Wait < 0, Logger: opts.Logger,
	})
	if opts.Events != nil {
		fleet.Events(opts.Events)
	}
	fleet.Apply(servers)
	if opts.Wait >= 0 {
		if opts.Wait > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, opts.Wait)
			defer cancel()
		}
		_ = fleet.Settle(ctx) // who is late comes later
	}
	m := &Mounted{Box: opts.box(fleet), Fleet: fleet}
	if opts.Logger != nil {
		c := &crowd{mounted: m, logger: opts.Logger, limit: opts.profile().Rules().Tool.MaxTools}
		fleet.Watch(c.look)
		c.look()
	}
	return m
}

func (o *MountOptions) profile() *schema.Profile {
	if o.Profile == nil {
		return schema.Universal
	}
	return o.Profile
}

func (o *MountOptions) box(fleet *Fleet) *toolbox.Box {
	return toolbox.NewBox(&toolbox.BoxOptions{
		Profile: o.profile(), Unvalidated: o.Unvalidated, Around: o.Around, Budget: o.Budget,
	}, fleet)
}

// crowd says when there are more tools than one request may have, once until there are
// fewer.
type crowd struct {
	mounted *Mounted
	logger  *slog.Logger
	limit   int // below it nobody needs to ask the box, which may never be shown to a model

	mu   sync.Mutex
	told bool
}

func (c *crowd) look() {
	var found []schema.Finding
	if c.limit > 0 && len(c.mounted.Fleet.Snapshot("").Tools) > c.limit {
		found = c.mounted.Box.Findings()
	}
	c.mu.Lock()
	news := len(found) > 0 && !c.told
	c.told = len(found) > 0
	c.mu.Unlock()
	if news {
		c.logger.Warn("too many tools", "why", found[0].Message)
	}
}

// Close ends every connection and waits for all processes, as [Fleet.Close]
// does. It may be called twice.
func (m *Mounted) Close() { m.Fleet.Close() }
