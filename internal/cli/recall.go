package cli

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

// recalled is what servers had when the ledger last heard them, as it would be
// mounted. None of them is started.
type recalled struct {
	tools  []toolbox.Descriptor
	status []interop.EndpointStatus
	heard  map[string]time.Time // of each server that the ledger knows
}

// find is the tool of that name.
func (r *recalled) find(name string) (toolbox.Descriptor, bool) {
	i := slices.IndexFunc(r.tools, func(d toolbox.Descriptor) bool { return d.Name == name })
	if i < 0 {
		return toolbox.Descriptor{}, false
	}
	return r.tools[i], true
}

// recall is what the ledger knows of servers: nothing where there is none, or it cannot
// be read, which is an error too.
func (f *ledgerFlags) recall(ctx context.Context, servers []interop.Server) (*recalled, error) {
	ctx, cancel := context.WithTimeout(ctx, recallLimit)
	defer cancel()
	entries, err := f.entries(ctx)
	r := &recalled{heard: map[string]time.Time{}}
	config := map[string]string{}
	for _, o := range servers {
		config[o.ID] = ledger.Fingerprint(o)
	}
	for _, e := range entries {
		if e.Op == ledger.Enroll && config[e.Server] == e.Config {
			r.heard[e.Server] = e.At
		}
	}
	mounted := mountKnown(ctx, servers, ledger.Known(entries, servers), schema.Original)
	defer mounted.Close()
	r.tools, r.status = mounted.Box.Snapshot("").Tools, mounted.Fleet.Status()
	return r, err
}

// entries is all that is in the ledger: nothing where none is kept yet.
func (f *ledgerFlags) entries(ctx context.Context) ([]ledger.Entry, error) {
	path, err := f.place()
	if err != nil {
		return nil, err
	}
	if there, err := isLedger(path); err != nil || !there && f.path == "" {
		return nil, err
	}
	file, _, err := f.open(ctx)
	if err != nil {
		return nil, err
	}
	return file.Read(ctx, 0)
}

// mountKnown mounts servers that had those tools when they last ran, and that nobody
// can reach now: the same eyes look at them as at those of a server.
func mountKnown(ctx context.Context, servers []interop.Server, known func(string) []toolbox.Wire, p *schema.Profile) *interop.Mounted {
	away := make([]interop.Server, len(servers))
	for i, o := range servers {
		away[i] = interop.Server{ID: o.ID, Tools: o.Tools, Profile: o.Profile}
	}
	return interop.Mount(ctx, away, &interop.MountOptions{
		Wait: -1, Budget: -1, Profile: p, Known: known,
		Grace: unreached, Restart: interop.Restart{First: unreached, Max: unreached},
	})
}
