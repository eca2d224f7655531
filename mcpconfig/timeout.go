package mcpconfig

import (
	"time"

	"github.com/tailscale/hujson"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

const (
	maxTimeout = 30 * 24 * time.Hour     // beyond this a unit was mistaken
	totalFloor = 10 * time.Minute        // the default of interop.Timeouts.Total, which a longer step must lift
	suspicious = 1000 * time.Millisecond // below this somebody probably meant seconds
)

// timeouts are what "timeout" says: milliseconds as a number, or a duration as Go
// writes it. It bounds each step by itself: connecting, listing, and a call since
// its last progress. What cannot be read is noted, and the defaults stay.
func (r *reading) timeouts() interop.Timeouts {
	v := r.fields["timeout"]
	if v == nil {
		return interop.Timeouts{}
	}
	d, err := duration(v.Value)
	if v.Value.Kind() == '0' && d > 0 && d < suspicious {
		r.note(v.StartOffset, `"timeout" counts milliseconds, and this is less than a second`, `write "30s" for seconds`)
	}
	switch {
	case err != nil:
		r.note(v.StartOffset, `"timeout" is neither a number of milliseconds nor a duration, and is left out`, `write 90000 or "90s"`)
		return interop.Timeouts{}
	case d > maxTimeout:
		r.note(v.StartOffset, `"timeout" is longer than 30 days, and is left out`, `write -1 for none`)
		return interop.Timeouts{}
	}
	return bounds(d)
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

func bounds(d time.Duration) interop.Timeouts {
	t := interop.Timeouts{Connect: d, List: d, Call: d}
	if d < 0 || d > totalFloor {
		t.Total = d
	}
	return t
}
