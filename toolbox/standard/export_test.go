package standard

import (
	"net/netip"
	"time"
)

// Markdown converts an HTML page to Markdown.
var Markdown = markdown

// TreatAsPublic makes webfetch treat an address of this machine as public.
func (d *Deck) TreatAsPublic(a netip.Addr) {
	check := d.fetcher.check
	d.fetcher.check = func(b netip.Addr) error {
		if a == b.Unmap() {
			return nil
		}
		return check(b)
	}
}

// LimitFetch sets the time limit for a page.
func (d *Deck) LimitFetch(limit time.Duration) { d.fetcher.limit = limit }
