package command

import (
	"context"
	"slices"
	"time"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
)

// recallLimit bounds the wait for a ledger that somebody holds, where a person waits
// for a Tab or for help.
const recallLimit = time.Second

// Recalled is what servers had when the ledger last heard them, as it would be
// mounted. None of them is started.
type Recalled struct {
	Tools  []toolbox.Descriptor
	Status []interop.EndpointStatus
	Heard  map[string]time.Time // of each server that the ledger knows
}

// Find is the tool of that name.
func (r *Recalled) Find(name string) (toolbox.Descriptor, bool) {
	i := slices.IndexFunc(r.Tools, func(d toolbox.Descriptor) bool { return d.Name == name })
	if i < 0 {
		return toolbox.Descriptor{}, false
	}
	return r.Tools[i], true
}

// Recall is what the ledger knows of servers: nothing where there is none, or it cannot
// be read, which is an error too.
func (f *LedgerFlags) Recall(ctx context.Context, servers []interop.Server) (*Recalled, error) {
	ctx, cancel := context.WithTimeout(ctx, recallLimit)
	defer cancel()
	r := &Recalled{Heard: map[string]time.Time{}}
	state := ledger.StateOf(nil)
	file, err := f.existing(ctx)
	if file != nil {
		var entries []ledger.Entry
		entries, err = file.Read(ctx, 0)
		state = ledger.StateOf(entries)
	}
	for _, o := range servers {
		if at := state.Heard(o); !at.IsZero() {
			r.Heard[o.ID] = at
		}
	}
	mounted := MountKnown(ctx, servers, state.Known(servers), schema.Original)
	defer mounted.Close()
	r.Tools, r.Status = mounted.Box.Snapshot("").Tools, mounted.Fleet.Status()
	return r, err
}

// MountKnown mounts servers that had those tools when they last ran, and that nobody
// can reach now: they are examined as those of a server are.
func MountKnown(ctx context.Context, servers []interop.Server, known func(string) []toolbox.Wire, p *schema.Profile) *interop.Mounted {
	away := make([]interop.Server, len(servers))
	for i, o := range servers {
		away[i] = interop.Server{ID: o.ID, Tools: o.Tools, Profile: o.Profile}
	}
	return interop.Mount(ctx, away, &interop.MountOptions{
		FleetOptions: interop.FleetOptions{Known: known, Grace: neverRetry, Restart: interop.Restart{First: neverRetry, Max: neverRetry}},
		Wait:         -1,
		Budget:       -1,
		Profile:      p,
	})
}

// neverRetry is longer than any command runs.
const neverRetry = 24 * time.Hour
