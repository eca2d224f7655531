package interop

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/schema/rule"
	"github.com/indusagi/indus/toolbox"
)

// MountOptions configures a mount. Nil and the zero value are valid.
type MountOptions struct {
	// FleetOptions configures the fleet. With a negative Wait, the fleet holds calls. The Logger also warns if there
	// are more tools than the profile's provider accepts in one request. [toolbox.Box.Findings] has all findings.
	FleetOptions
	// Wait bounds how long Mount waits for servers. Zero means until each server is ready or faulted. A negative value
	// means no wait, and then a call to a server that is still connecting waits for it.
	Wait time.Duration
	// Profile is the form in which models see all tools. [schema.Original] is their original form, and [schema.Seed] is
	// the seeds' form. If it is nil, Server.Profile applies. If that is nil too, [schema.Universal] applies, which
	// every provider accepts.
	Profile *schema.Profile
	// Unvalidated lets [toolbox.Box.Run] send arguments that do not match a tool's schema, so that the server checks
	// them. If it is false, the model receives a hint how to correct its call.
	Unvalidated bool
	// Around wraps every call of a tool. The first wrapper is the outermost.
	Around []func(next toolbox.Do) toolbox.Do
	// Budget bounds the result that [toolbox.Box.Run] returns to a model, in bytes. Zero means 64 KiB, and a negative
	// value means no bound.
	Budget int
	// Filter returns the source of the Box in place of the fleet on which it is built. It is called before any server
	// is added, and must not wait. If it is nil, the fleet is the source.
	Filter func(*Fleet) toolbox.Source
	// Events receives all events of servers from the first attempt on, as [Fleet.Events] delivers them. It must not
	// block. If it is nil, events are dropped.
	Events func(Event)
}

// Mounted is the tools of the servers as one toolbox, with the fleet behind it.
type Mounted struct {
	// Box has every tool of every ready server, and follows changes.
	Box *toolbox.Box
	// Fleet has the health of each server, and accepts new configurations.
	Fleet *Fleet
}

// Mount connects the servers and returns their tools as one toolbox. It never fails as a whole: a server that cannot be
// reached has no tools in the Box, and its fault is in Fleet.Status. Mount returns once every server is ready or
// faulted, or MountOptions.Wait is over, or ctx has ended. ctx bounds only that wait. The caller must close the result.
func Mount(ctx context.Context, servers []config.Server, opts *MountOptions) *Mounted {
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
		Profile: opts.Profile, Default: schema.Universal, Unvalidated: opts.Unvalidated,
		Around: opts.Around, Budget: opts.Budget,
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
		_ = fleet.Settle(ctx) // tools of late servers appear later
	}
	if opts.Logger != nil {
		w := &countWarning{source: source, profile: opts.Profile, logger: opts.Logger}
		source.Watch(w.check)
		w.check()
	}
	return &Mounted{Box: box, Fleet: fleet}
}

// countWarning warns if there are more tools than one request may have. It warns again only after the number has been
// low enough. It counts tools without preparing them, because a gateway never shows the box to a model.
type countWarning struct {
	source  toolbox.Source
	profile *schema.Profile // for all tools; nil if each tool has its own
	logger  *slog.Logger

	mu     sync.Mutex
	warned bool
}

func (w *countWarning) check() {
	w.mu.Lock() // so that the newest list is checked last
	found := w.count(w.source.Snapshot("").Tools)
	isNew := len(found) > 0 && !w.warned
	w.warned = len(found) > 0
	w.mu.Unlock()
	if isNew {
		w.logger.Warn("too many tools", "why", found[0].Message)
	}
}

// count returns the findings of the profiles' providers for the number of tools. Tools that their owner excludes from
// models do not count.
func (w *countWarning) count(tools []toolbox.Descriptor) []rule.Finding {
	n := 0
	for i := range tools {
		if tools[i].Excluded == "" {
			n++
		}
	}
	if w.profile != nil {
		return schema.CheckCount(n, w.profile)
	}
	found := schema.CheckCount(n, schema.Universal)
	for i := 0; found == nil && i < len(tools); i++ {
		if p := tools[i].Profile; p != nil {
			found = schema.CheckCount(n, p)
		}
	}
	return found
}

// Close ends every connection and waits for all processes, as [Fleet.Close] does. It may be called twice.
func (m *Mounted) Close() { m.Fleet.Close() }
