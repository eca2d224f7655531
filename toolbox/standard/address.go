package standard

import (
	"fmt"
	"net/netip"
	"syscall"

	"github.com/indusagi/indus/internal/publicaddr"
)

// refusedAddress is the error of an address that must not be reached.
type refusedAddress struct {
	addr   netip.Addr
	reason string
}

func (e *refusedAddress) Error() string {
	return fmt.Sprintf("%v is %s: only public addresses are fetched", e.addr, e.reason)
}

// onlyPublic refuses addresses that are not public.
func onlyPublic(a netip.Addr) error {
	if reason := publicaddr.Refusal(a); reason != "" {
		return &refusedAddress{a, reason}
	}
	return nil
}

// checkDial checks each address that is dialled, after names are resolved. An earlier result of the same name does not
// matter.
func (f *fetcher) checkDial(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	return f.check(at.Addr())
}
