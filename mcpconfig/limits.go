package mcpconfig

import (
	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// timeouts reads "timeout". A number of milliseconds, or a duration in Go's format, bounds each of three steps:
// connecting, listing, and a call since its last progress. An object has a time for each step, and for the wait in the
// queue. A value that cannot be read is noted, and the default stays.
func (r *typedRow) timeouts(field string, v *hujson.Value) (t config.Timeouts) {
	if tree.Has(v, '{') {
		r.object(field, v, false,
			member{"connect", storeIn(&t.Connect, r.bound)}, member{"list", storeIn(&t.List, r.bound)},
			member{"call", storeIn(&t.Call, r.bound)}, member{"total", storeIn(&t.Total, r.bound)},
			member{"queue", storeIn(&t.Queue, r.bound)},
		)
	} else {
		d := r.bound(field, v)
		t = config.Timeouts{Connect: d, List: d, Call: d}
	}
	if t.Total == 0 && (t.Call < 0 || t.Call > minTotal) { // a whole call may take at least as long
		t.Total = t.Call
	}
	return t
}

// pool reads the number of connections of the server, and of its requests at a time. If "per" cannot be read, the row
// is skipped, because "per" keeps principals apart.
func (r *typedRow) pool() (p config.Pool) {
	r.take(
		member{"instances", storeIn(&p.Instances, r.count(1, maxInstances))},
		member{"maxPrincipals", storeIn(&p.MaxPrincipals, r.count(1, maxPooled))},
		member{"maxConcurrent", storeIn(&p.MaxConcurrent, r.count(1, maxPooled))},
		member{"maxQueue", storeIn(&p.MaxQueue, r.count(0, maxPooled))},
	)
	if r.fields["maxQueue"] != nil && p.MaxQueue == 0 {
		p.MaxQueue = -1
	}
	if v := r.fields["per"]; v != nil {
		p.Per = tree.Text(*v)
		if p.Per != config.PerPrincipal {
			r.skip(v.StartOffset, `"per" is not "principal"`, `write "principal", or leave it out`)
		}
		r.remarkUnused("each principal has a connection of its own, so", "instances")
	} else {
		r.remarkUnused(`without "per": "principal"`, "maxPrincipals")
	}
	if r.fields["maxConcurrent"] == nil {
		r.remarkUnused(`without "maxConcurrent"`, "maxQueue")
	}
	return p
}
