package serve

import (
	"time"
)

// bursts is how much was reported of each server of late: one that goes on changing, out
// of malice or not, must not drown what is said of the others.
type bursts map[string]*burst

type burst struct {
	since time.Time
	n     int
}

// burstRest is how long nothing more is reported of a server of which enough was.
const burstRest = time.Minute

// count counts a line about a server, and says how many there were before.
func (b bursts) count(server string) int {
	one := b[server]
	if one == nil || time.Since(one.since) >= burstRest {
		one = &burst{since: time.Now()}
		b[server] = one
	}
	one.n++
	return one.n - 1
}
