package standard

import (
	"net/netip"
	"time"
)

// NotPublic says why an address is none of the public internet.
var NotPublic = notPublic

// Markdown is an HTML page as Markdown.
var Markdown = markdown

// TreatAsPublic has webfetch take an address of this machine for a public one.
func (d *Deck) TreatAsPublic(a netip.Addr) {
	check := d.fetcher.check
	d.fetcher.check = func(b netip.Addr) error {
		if a == b.Unmap() {
			return nil
		}
		return check(b)
	}
}

// LimitFetch sets how long a page may take.
func (d *Deck) LimitFetch(limit time.Duration) { d.fetcher.limit = limit }
