package httpconn

import (
	"cmp"
	"errors"
	"net"
	"net/url"
)

// Reason returns the cause of a failed request. Its text has neither the URL, which [url.Error] repeats, nor the host
// of the URL, which the caller names.
func Reason(err error) error {
	failed, ok := errors.AsType[*url.Error](err)
	if !ok {
		return err
	}
	u, urlErr := url.Parse(failed.URL)
	dial, ok := failed.Err.(*net.OpError) //nolint:errorlint // the text of an error around it would be lost
	if urlErr != nil || !ok || dial.Op != "dial" {
		return failed.Err
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	lookup, unresolved := errors.AsType[*net.DNSError](dial)
	switch {
	case unresolved && lookup.Name == u.Hostname():
		return &reason{dial, "lookup: " + lookup.Err}
	case dial.Addr != nil && dial.Addr.String() == net.JoinHostPort(u.Hostname(), port):
		return &reason{dial, dial.Err.Error()}
	}
	return dial
}

// reason is an error with another text.
type reason struct {
	error
	text string
}

func (r *reason) Error() string { return r.text }
func (r *reason) Unwrap() error { return r.error }
