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
	// FleetOptions are those of the fleet. With a negative Wait it holds calls. Its Logger
	// also warns of more tools than the profile's provider takes in one request, as
	// [toolbox.Box.Findings] does.
	FleetOptions
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
	// Filter gives the source that the Box is made of in place of the fleet, on which it
	// stands. It is called before any server is added, and must not wait. nil: the fleet.
	Filter func(*Fleet) toolbox.Source
	// Events gets everything that happens to servers, from the first attempt
	// on, as [Fleet.Events] delivers it; it must not block. nil: nobody gets it.
	Events func(Event)
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
// its fault is in Fleet.Status. Mount returns once every server is ready or
// faulted, or MountOptions.Wait is over, or ctx has ended; ctx bounds that wait
// and nothing else. The caller closes what it gets.
func Mount(ctx context.Context, servers []Server, opts *MountOptions) *Mounted {
	if opts == nil {
		opts = &MountOptions{}
	}
	fleetOpts := opts.FleetOptions
	fleetOpts.Hold = fleetOpts.Hold || opts.Wait < 0
	fleet := NewFleet(&fleetOpts)
	var source toolbox.Source = fleet
	if opts.Filter != nil {
		source = opts.Filter(fleet)
	}
	box := toolbox.NewBox(&toolbox.BoxOptions{
		Profile: opts.Profile, Default: schema.Universal, Unvalidated: opts.Unvalidated, Around: opts.Around, Budget: opts.Budget,
	}, source)
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
		w := &countWarning{source: source, profile: opts.Profile, logger: opts.Logger}
		source.Watch(w.check)
		w.check()
	}
	return &Mounted{Box: box, Fleet: fleet}
}

// countWarning warns of more tools than one request may have, once until there are fewer. It counts and prepares no tool:
// a gateway never shows the box to a model.
type countWarning struct {
	source  toolbox.Source
	profile *schema.Profile // of all tools; nil: of each its own
	logger  *slog.Logger

	mu     sync.Mutex
	warned bool
}

func (w *countWarning) check() {
	w.mu.Lock() // so that the newest list is the last to be checked
	found := w.count(w.source.Snapshot("").Tools)
	news := len(found) > 0 && !w.warned
	w.warned = len(found) > 0
	w.mu.Unlock()
	if news {
		w.logger.Warn("too many tools", "why", found[0].Message)
	}
}

// count is what the profiles' providers would refuse of that many tools.
func (w *countWarning) count(tools []toolbox.Descriptor) []schema.Finding {
	if w.profile != nil {
		return schema.CheckCount(len(tools), w.profile)
	}
	found := schema.CheckCount(len(tools), schema.Universal)
	for i := 0; found == nil && i < len(tools); i++ {
		if p := tools[i].Profile; p != nil {
			found = schema.CheckCount(len(tools), p)
		}
	}
	return found
}

// Close ends every connection and waits for all processes, as [Fleet.Close]
// does. It may be called twice.
func (m *Mounted) Close() { m.Fleet.Close() }
