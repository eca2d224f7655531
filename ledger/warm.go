package ledger

import (
	"slices"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// Known is the warm start, for MountOptions.Known: what each server had in the newest
// run that heard it under this very configuration. What a server lost with its
// connection, or at the run's end, it is taken to have still; what it did not list
// any more, it has not.
func Known(entries []Entry, servers []interop.Server) func(server string) []toolbox.Wire {
	known := map[string][]toolbox.Wire{}
	runs := Runs(entries)
	for _, s := range servers {
		known[s.ID] = lastOf(runs, s.ID, Fingerprint(s))
	}
	return func(server string) []toolbox.Wire { return known[server] }
}

func lastOf(runs []Run, server, config string) []toolbox.Wire {
	for _, r := range slices.Backward(runs) {
		if had, ok := r.had(server, config); ok {
			return had
		}
	}
	return nil
}

// had is what a server had when the run last heard it, and whether it ever did.
func (r Run) had(server, config string) (tools []toolbox.Wire, heard bool) {
	var f = fold{at: map[Key]int{}}
	for _, e := range r.Entries {
		if e.Server != server || e.Config != config || e.Op == Retire && e.Note == NoteLost {
			continue
		}
		heard = heard || e.Op == Enroll
		f.take(e)
	}
	for _, e := range f.snapshot().Live {
		if e.Capability != nil && len(e.Capability.Wire.JSON) > 0 {
			tools = append(tools, e.Capability.Wire)
		}
	}
	return tools, heard
}
