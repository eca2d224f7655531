package history

import (
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/ledger"
)

// versionTracker tracks the approved version of each tool while the log is read in order.
type versionTracker struct {
	known    map[command.Version]ledger.Entry
	approved map[command.Version]string // sum by version; the sum of the key is ""
}

// process processes the next entry. If e is not the approved version, it returns that version, or isNew if there is
// none.
func (v *versionTracker) process(e ledger.Entry) (approved ledger.Entry, ok, isNew bool) {
	if e.Tool == "" || e.Sum == "" {
		return ledger.Entry{}, false, false
	}
	version := command.VersionOf(e)
	t := version
	t.Sum = ""
	switch e.Op {
	case ledger.Accept:
		v.approved[t] = e.Sum
		return ledger.Entry{}, false, false
	case ledger.Enroll, ledger.Hold:
		if _, seen := v.approved[t]; !seen && !e.Changed && e.Op == ledger.Enroll {
			v.approved[t] = e.Sum
		}
		v.known[version] = e
	}
	if v.approved[t] == e.Sum {
		return ledger.Entry{}, false, false
	}
	t.Sum = v.approved[t]
	approved, ok = v.known[t]
	return approved, ok, t.Sum == ""
}
