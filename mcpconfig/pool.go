package mcpconfig

import (
	"fmt"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

const (
	maxInstances = 64      // processes of one server
	maxPooled    = 100_000 // all other counts: beyond this something else was meant
)

// pool is over how many connections the server is used, and how many requests at a time. A "per" that cannot be read
// gives the row up: it was meant to keep principals apart.
func (r *reading) pool() interop.Pool {
	p := interop.Pool{
		Instances: r.count("instances", 1, maxInstances), MaxPrincipals: r.count("maxPrincipals", 1, maxPooled),
		MaxConcurrent: r.count("maxConcurrent", 1, maxPooled), MaxQueue: r.count("maxQueue", 0, maxPooled),
	}
	if v := r.fields["maxQueue"]; v != nil && p.MaxQueue == 0 {
		p.MaxQueue = -1
	}
	if v := r.fields["per"]; v != nil {
		if p.Per = tree.Text(*v); v.Value.Kind() != '"' || p.Per != interop.PerPrincipal {
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

// count is a field that must be a whole number; 0 where it is none.
func (r *reading) count(field string, least, most int) int {
	v := r.fields[field]
	if v == nil {
		return 0
	}
	n := -1.0
	if v.Value.Kind() == '0' {
		n = v.Value.(hujson.Literal).Float()
	}
	if n < float64(least) || n > float64(most) || n != float64(int(n)) {
		r.note(v.StartOffset, fmt.Sprintf("%q is no whole number from %d to %d, and is left out", field, least, most), "")
		delete(r.fields, field)
		return 0
	}
	return int(n)
}
