package host

import (
	"errors"

	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/toolbox"
)

// newSessionID returns the function that creates ids of sessions. They are sealed, so that a peer without the session
// can see its principal and its replica. A request finds its session only in the table, so no id is opened for that.
func newSessionID(o *Options) func(toolbox.Principal) string {
	keys := o.Keys
	return func(p toolbox.Principal) string {
		return keys.Seal(sealed.Token{Kind: sealed.Session, Principal: string(p)})
	}
}

var errSessionGone = errors.New("it has ended, or belongs to another path")

// foreignSession returns the reason why an id is not a session of the caller on this host.
func foreignSession(o *Options, id string, caller toolbox.Principal) error {
	_, err := o.Keys.Open(id, sealed.Want{Kind: sealed.Session, Principal: string(caller)})
	if err != nil {
		return err
	}
	return errSessionGone
}
