package gateway

import (
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// maxUsedStates bounds the number of used states that are remembered for one principal.
const maxUsedStates = 10_000

// errStateUsed is returned if a client sends the same requestState of a server a second time.
var errStateUsed = errors.New("its answers were given before, " +
	"and each state is valid for one request; use the state of the last answer")

// errStateOld is returned if a client continues an approved call with a state of an earlier process.
var errStateOld = errors.New("indus was restarted since the question, and an approved call runs once; " +
	"send the request again without it")

// usedStates holds the requestStates that clients have sent and that have not expired. The zero value is ready.
type usedStates struct {
	mu       sync.Mutex
	expiries map[toolbox.Principal]map[[sha256.Size]byte]time.Time // the time at which each state expires
}

// markUsed marks a state as used, and reports whether this is the first use. undo unmarks it unless the server
// answered.
func (u *usedStates) markUsed(p toolbox.Principal, state string, until time.Time) (undo func(error), first bool) {
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
	if len(all) >= maxUsedStates {
		for old, end := range all {
			if time.Now().After(end) || len(all) > maxUsedStates/2 {
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
