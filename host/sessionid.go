package host

import (
	"errors"

	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/toolbox"
)

// newSessionID makes the ids of sessions: sealed, so that a peer that does not have the session
// can tell whose it is and where. Here only an id that stands in the table is a session, and
// nothing is opened for that.
func newSessionID(o *Options) func(toolbox.Principal) string {
	keys, replica := o.Keys, o.Replica
	return func(p toolbox.Principal) string {
		return keys.Seal(sealed.Token{Kind: sealed.Session, Replica: replica, Principal: string(p)})
	}
}

var (
	errSessionGone    = errors.New("it has ended, or belongs to another path")
	errSessionForeign = errors.New("it belongs to another replica, and no request is forwarded")
)

// foreignSession is why an id is no session of a caller's here.
func foreignSession(o *Options, id string, caller toolbox.Principal) error {
	t, err := o.Keys.Open(id, sealed.Want{Kind: sealed.Session, Principal: string(caller)})
	switch {
	case err != nil:
		return err
	case t.Replica != o.Replica:
		return errSessionForeign
	}
	return errSessionGone
}
