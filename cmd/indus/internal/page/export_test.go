package page

import "time"

// LinkAt returns a link of a site that was made at a time.
func LinkAt(s *Site, made time.Time) string {
	return linkTo(s.Address, newLink(s.access.links.secret, made))
}

// MaxStreams is the bound of open streams.
const MaxStreams = maxStreams

// MaxSessions is the bound of sessions of a visitor.
const MaxSessions = maxSessions

// SetSearchWait sets the longest time of a search in the audit, and returns the previous one.
func SetSearchWait(d time.Duration) time.Duration {
	before := searchWait
	searchWait = d
	return before
}

// CheckedAddress returns an address as the page writes it.
func CheckedAddress(address string) string { return checkedAddress(address) }

// ClockText returns a time as the page writes it.
func ClockText(t, now time.Time) string { return clockText(t, now) }
