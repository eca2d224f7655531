package mcpconfig

import (
	"fmt"
	"time"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

const (
	maxTimeout     = 30 * 24 * time.Hour     // beyond this a unit was mistaken
	totalFloor     = 10 * time.Minute        // the default of interop.Timeouts.Total, which a longer step must lift
	leastPlausible = 1000 * time.Millisecond // below this somebody probably meant seconds

	maxInstances = 64      // processes of one server
	maxPooled    = 100_000 // all other counts: beyond this something else was meant
)

// timeouts are what "timeout" says: milliseconds as a number, or a duration as Go
// writes it, which bounds each step by itself: connecting, listing, and a call since
// its last progress; or an object with one for each step, and for the wait for a request's turn. What cannot be read is
// noted, and the defaults stay.
func (r *reading) timeouts(field string, v *hujson.Value) (t interop.Timeouts) {
	if tree.Has(v, '{') {
		r.object(field, v, false,
			member{"connect", storeIn(&t.Connect, r.bound)}, member{"list", storeIn(&t.List, r.bound)}, member{"call", storeIn(&t.Call, r.bound)},
			member{"total", storeIn(&t.Total, r.bound)}, member{"queue", storeIn(&t.Queue, r.bound)},
		)
	} else {
		d := r.bound(field, v)
		t = interop.Timeouts{Connect: d, List: d, Call: d}
	}
	if t.Total == 0 && (t.Call < 0 || t.Call > totalFloor) { // else it would cut what a call may take since its last progress
		t.Total = t.Call
	}
	return t
}

// bound is one duration; 0 where it cannot be read.
func (r *reading) bound(field string, v *hujson.Value) time.Duration {
	d, err := duration(v)
	if tree.Has(v, '0') && d > 0 && d < leastPlausible {
		r.note(v.StartOffset, fmt.Sprintf("%q counts milliseconds, and this is less than a second", field), `write "30s" for seconds`)
	}
	switch {
	case err != nil:
		r.note(v.StartOffset, fmt.Sprintf("%q is neither a number of milliseconds nor a duration, and is left out", field), `write 90000 or "90s"`)
		return 0
	case d > maxTimeout:
		r.note(v.StartOffset, fmt.Sprintf("%q is longer than 30 days, and is left out", field), `write -1 for none`)
		return 0
	}
	return d
}

// duration is more than maxTimeout, and not overflown, where the number is.
func duration(v *hujson.Value) (time.Duration, error) {
	if !tree.Has(v, '0') {
		return time.ParseDuration(tree.Text(*v))
	}
	ms := v.Value.(hujson.Literal).Float()
	ms = max(-1, min(ms, float64(maxTimeout.Milliseconds()+1)))
	return time.Duration(ms * float64(time.Millisecond)), nil
}

// pool is over how many connections the server is used, and how many requests at a time. A "per" that cannot be read
// gives the row up: it was meant to keep principals apart.
func (r *reading) pool() (p interop.Pool) {
	r.take(
		member{"instances", storeIn(&p.Instances, r.count(1, maxInstances))}, member{"maxPrincipals", storeIn(&p.MaxPrincipals, r.count(1, maxPooled))},
		member{"maxConcurrent", storeIn(&p.MaxConcurrent, r.count(1, maxPooled))}, member{"maxQueue", storeIn(&p.MaxQueue, r.count(0, maxPooled))},
	)
	if r.fields["maxQueue"] != nil && p.MaxQueue == 0 {
		p.MaxQueue = -1
	}
	if v := r.fields["per"]; v != nil {
		if p.Per = tree.Text(*v); p.Per != interop.PerPrincipal {
			r.skip(v.StartOffset, `"per" is not "principal"`, `write "principal", or leave it out`)
		}
		r.unused("each principal has a connection of its own, so", "instances")
	} else {
		r.unused(`without "per": "principal"`, "maxPrincipals")
	}
	if r.fields["maxConcurrent"] == nil {
		r.unused(`without "maxConcurrent"`, "maxQueue")
	}
	return p
}
