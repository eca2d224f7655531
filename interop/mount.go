package interop

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
	"github.com/indusagi/indus/toolbox/catalog"
)

// MountOptions tune a mount. nil and the zero value are good.
type MountOptions struct {
	// Wait bounds how long Mount waits for servers. 0: until each is ready or
	// faulted; negative: not at all, and then a call to a server that is still
	// connecting waits for it.
	Wait time.Duration
	// Profile is how all tools are shown to models: [schema.Original] as their owners
	// wrote them, [schema.Seed] the seeds' way. nil: as their Server.Profile says, and
	// where that is nil [schema.Universal], which every provider takes.
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
	// Drain is how long calls in flight may go on when their server was taken out, or a
	// successor serves in its place. 0: 30 s; negative: not at all.
	Drain time.Duration
	// Memory bounds the bytes of all messages from servers. nil: 256 MiB of its own.
	Memory *Memory
	// MaxCalls bounds the calls of one principal to one server at a time; those beyond
	// wait for CallWait, and then fail. 0: 1,000; negative: no bound.
	MaxCalls int
	// CallWait is how long a call beyond MaxCalls waits. 0: 10 s; negative: not at all.
	CallWait time.Duration
	// Known gives the tools that a server had when it last ran: they are listed, and
	// calls to them wait, until it answers itself. nil: nothing is known.
	Known func(server string) []toolbox.Wire
	// Through puts another source in the place of the fleet, which it stands on, before
	// any server is connected; the Box is made of it. It must not wait, and it heeds
	// Server.Changes. nil: none, and servers that keep changed tools back have no tools.
	Through func(*Fleet) toolbox.Source
	// Gateway puts four tools in the place of all: search, schema, call and batch, of
	// package catalog, so that 300 tools cost a model four. The Box has the four and
	// nothing else; Profile shapes them, and Around wraps the calls of the tools behind
	// them. Its Unvalidated is the one above. nil: the Box has every tool.
	Gateway *catalog.Options
	// Events hears of everything that happens to servers, from the first attempt
	// on, as [Fleet.Events] tells it; it must not block. nil: nobody does.
	Events func(Event)
	// Logger hears of servers that come and go, and of more tools than the profile's
	// provider takes in one request ([toolbox.Box.Findings] says so too). nil: silent.
	Logger *slog.Logger
}

// Mounted is servers' tools as one toolbox, and the fleet behind it.
type Mounted struct {
	// Box has every tool of every ready server, or MountOptions.Gateway's four, and is
	// live.
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
		Endpoint: opts.Endpoint, Restart: opts.Restart, Grace: opts.Grace, Drain: opts.Drain, Known: opts.Known,
		Hold: opts.Wait < 0, Memory: opts.Memory, MaxCalls: opts.MaxCalls, CallWait: opts.CallWait, Logger: opts.Logger,
	})
	var source toolbox.Source = unguarded{fleet}
	if opts.Through != nil {
		source = opts.Through(fleet)
	}
	source = opts.gateway(source)
	m := &Mounted{Box: opts.box(source), Fleet: fleet}
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
	if opts.Logger != nil {
		c := &crowd{source: source, box: m.Box, profile: opts.Profile, logger: opts.Logger}
		source.Watch(c.look)
		c.look()
	}
	return m
}

func (o *MountOptions) box(source toolbox.Source) *toolbox.Box {
	around := o.Around
	if o.Gateway != nil {
		around = nil // they stand behind the four
	}
	return toolbox.NewBox(&toolbox.BoxOptions{
		Profile: o.Profile, Default: schema.Universal, Unvalidated: o.Unvalidated, Around: around, Budget: o.Budget,
	}, source)
}

// gateway is the four tools over a source, where they are wanted. Who writes Around means
// the tools that do something, each under its own name, also where a batch calls them.
func (o *MountOptions) gateway(source toolbox.Source) toolbox.Source {
	if o.Gateway == nil {
		return source
	}
	four := *o.Gateway
	four.Unvalidated = o.Unvalidated
	return catalog.Over(toolbox.NewBox(&toolbox.BoxOptions{Around: o.Around}, source), &four)
}

// crowd says when there are more tools than one request may have, once until there are
// fewer.
type crowd struct {
	source  toolbox.Source
	box     *toolbox.Box
	profile *schema.Profile // of all tools; nil: of each its own
	logger  *slog.Logger

	mu   sync.Mutex
	told bool
}

func (c *crowd) look() {
	c.mu.Lock() // who looked earlier must not have the last word
	var found []schema.Finding
	if c.mayBe() {
		found = c.box.Findings()
	}
	news := len(found) > 0 && !c.told
	c.told = len(found) > 0
	c.mu.Unlock()
	if news {
		c.logger.Warn("too many tools", "why", found[0].Message)
	}
}

// mayBe is cheap: where it is false nobody needs to ask the box, which may never be
// shown to a model.
func (c *crowd) mayBe() bool {
	tools := c.source.Snapshot("").Tools
	crowds := func(p *schema.Profile) bool {
		limit := p.Rules().Tool.MaxTools
		return limit > 0 && len(tools) > limit
	}
	if c.profile != nil {
		return crowds(c.profile)
	}
	return crowds(schema.Universal) || slices.ContainsFunc(tools, func(d toolbox.Descriptor) bool {
		return d.Profile != nil && crowds(d.Profile)
	})
}

// Close ends every connection and waits for all processes, as [Fleet.Close]
// does. It may be called twice.
func (m *Mounted) Close() { m.Fleet.Close() }
