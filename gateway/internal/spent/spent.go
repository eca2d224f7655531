// Package spent remembers the states of requests that clients have used, because each is valid for one request.
package spent

import (
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// maxStates bounds the number of used states that are remembered for one principal.
const maxStates = 10_000

// States holds the states (requestState) that clients have sent and that have not expired. The zero value is ready. All
// methods may be called from any goroutine.
type States struct {
	mu       sync.Mutex
	expiries map[toolbox.Principal]map[[sha256.Size]byte]time.Time // the time at which each state expires
}

// Mark marks a state as used, and reports whether this is the first use. undo unmarks it unless the server answered.
func (u *States) Mark(p toolbox.Principal, state string, until time.Time) (undo func(error), first bool) {
	sum := sha256.Sum256([]byte(state))
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.expiries == nil {
		u.expiries = map[toolbox.Principal]map[[sha256.Size]byte]time.Time{}
	}
	all := u.expiries[p]
	if all == nil {
		all = map[[sha256.Size]byte]time.Time{}
		u.expiries[p] = all
	}
	if _, used := all[sum]; used {
		return nil, false
	}
	if len(all) >= maxStates {
		for old, end := range all {
			if time.Now().After(end) || len(all) > maxStates/2 {
				delete(all, old)
			}
		}
	}
	all[sum] = until
	return func(err error) {
		if _, answered := errors.AsType[*interop.RPCError](err); err == nil || answered {
			return
		}
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(all, sum)
	}, true
}
