package mcpconfig

import (
	"fmt"
	"time"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

const (
	maxTimeout   = 30 * 24 * time.Hour     // a longer time is a mistaken unit
	minTotal     = 10 * time.Minute        // the default of config.Timeouts.Total, which a longer call must raise
	minPlausible = 1000 * time.Millisecond // a shorter time was probably meant in seconds

	maxInstances = 64      // processes of one server
	maxPooled    = 100_000 // of all other counts; a larger number is a mistake
)

// timeouts reads "timeout". A number of milliseconds, or a duration in Go's format, bounds each of three steps:
// connecting, listing, and a call since its last progress. An object has a time for each step, and for the wait in the
// queue. A value that cannot be read is noted, and the default stays.
func (r *reading) timeouts(field string, v *hujson.Value) (t config.Timeouts) {
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

// bound reads a duration. It is 0 if the value cannot be read.
func (r *reading) bound(field string, v *hujson.Value) time.Duration {
	d, err := duration(v)
	if tree.Has(v, '0') && d > 0 && d < minPlausible {
		r.note(v.StartOffset, fmt.Sprintf("%q counts milliseconds, and this is less than a second", field),
			`write "30s" for seconds`)
	}
	switch {
	case err != nil:
		r.note(v.StartOffset, fmt.Sprintf("%q is neither a number of milliseconds nor a duration, and is left out", field),
			`write 90000 or "90s"`)
		return 0
	case d > maxTimeout:
		r.note(v.StartOffset, fmt.Sprintf("%q is longer than 30 days, and is left out", field), `write -1 for none`)
		return 0
	}
	return d
}

// duration reads a duration. If a number is too large, the result is above maxTimeout and does not overflow.
func duration(v *hujson.Value) (time.Duration, error) {
	if !tree.Has(v, '0') {
		return time.ParseDuration(tree.Text(*v))
	}
	ms := v.Value.(hujson.Literal).Float()
	ms = max(-1, min(ms, float64(maxTimeout.Milliseconds()+1)))
	return time.Duration(ms * float64(time.Millisecond)), nil
}

// pool reads the number of connections of the server, and of its requests at a time. If "per" cannot be read, the row
// is skipped, because "per" keeps principals apart.
func (r *reading) pool() (p config.Pool) {
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

// single reads whether the server runs once in a cluster. If the value cannot be read, the row is skipped, because the
// server might run twice.
func (r *reading) single() bool {
	v := r.fields["single"]
	switch {
	case v == nil || !r.boolean("single", v):
		return false
	case r.Server.Pool.Per != "":
		r.skip(v.StartOffset, `a "single" server has one process for all principals, and "per" asks for more`,
			"remove one of the two")
	case !r.maySet(v.StartOffset, `"single" is not heeded: a project's file does not say where servers run`):
		return false
	}
	r.remarkUnused(`a "single" server has one process, so`, "instances")
	return true
}
