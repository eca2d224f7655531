package interop

import (
	"github.com/indusagi/indus/internal/box"
	"github.com/indusagi/indus/interop/config"
)

// boxOf returns the box of a server's sandbox.
func boxOf(s config.Sandbox) *box.Box {
	b := &box.Box{
		Read: s.Read, Write: s.Write, Listen: s.Listen, Limits: box.Limits(s.Limits),
		Home: s.Home, NoProc: s.NoProc, User: s.User, Optional: s.Optional,
	}
	if s.RealHome {
		b.Home = ""
	}
	return b
}
