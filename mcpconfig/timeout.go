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
)

// timeouts are what "timeout" says: milliseconds as a number, or a duration as Go
// writes it, which bounds each step by itself: connecting, listing, and a call since
// its last progress; or an object with one for each step, and for the wait for a request's turn. What cannot be read is
// noted, and the defaults stay.
func (r *reading) timeouts() interop.Timeouts {
	v := r.fields["timeout"]
	if v == nil {
		return interop.Timeouts{}
	}
	if !tree.Has(v, '{') {
		d := r.bound("timeout", v)
		return lifted(interop.Timeouts{Connect: d, List: d, Call: d})
	}
	var t interop.Timeouts
	steps := map[string]*time.Duration{"connect": &t.Connect, "list": &t.List, "call": &t.Call, "total": &t.Total, "queue": &t.Queue}
	r.members("timeout", v, []string{"connect", "list", "call", "total", "queue"}, false, func(name string, v *hujson.Value) {
		*steps[name] = r.bound("timeout."+name, v)
	})
	return lifted(t)
}

// needed is when the server is connected: "lazy", nil where that is for whoever mounts it to say, and "idle".
func (r *reading) needed() (lazy *bool, idle time.Duration) {
	if v := r.fields["lazy"]; v != nil {
		if on := r.flag("lazy", false); on || v.Value.Kind() == 'f' || tree.Text(*v) == "false" {
			lazy = &on
		}
	}
	if v := r.fields["idle"]; v != nil {
		idle = r.bound("idle", v)
	}
	return lazy, idle
}

// bound is one duration; 0 where it cannot be read.
func (r *reading) bound(field string, v *hujson.Value) time.Duration {
	d, err := duration(v.Value)
	if v.Value.Kind() == '0' && d > 0 && d < leastPlausible {
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
func duration(v hujson.ValueTrimmed) (time.Duration, error) {
	if v.Kind() != '0' {
		return time.ParseDuration(tree.Text(hujson.Value{Value: v}))
	}
	ms := v.(hujson.Literal).Float()
	ms = max(-1, min(ms, float64(maxTimeout.Milliseconds()+1)))
	return time.Duration(ms * float64(time.Millisecond)), nil
}

// lifted gives a call the time in all that it may take since its last progress.
func lifted(t interop.Timeouts) interop.Timeouts {
	if t.Total == 0 && (t.Call < 0 || t.Call > totalFloor) {
		t.Total = t.Call
	}
	return t
}
