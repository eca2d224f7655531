package host

import (
	"errors"

	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/toolbox"
)

// newSessionID returns the function that creates ids of sessions. They are sealed, so that a peer without the session
// can see its principal and its replica. A request finds its session only in the table, so no id is opened for that.
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

// foreignSession returns the reason why an id is not a session of the caller on this host.
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
