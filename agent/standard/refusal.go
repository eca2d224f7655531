package standard

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/indusagi/indus/toolbox"
)

// WriteChecker is implemented by a [toolbox.FS] that refuses to change some files.
type WriteChecker interface {
	// CheckWrite returns the error that WriteFile would return for that name, as far as it is known.
	CheckWrite(name string) error
}

// Refusal returns the error with which a call of a deck's tool would end, as far as it is known before the call runs.
// Examples are a path outside the directory, a file that was not read, and an address that is not public. If it returns
// nil, the call may succeed. It changes nothing and sends nothing. With it, a program need not ask a person about a
// call that cannot run.
func (d *Deck) Refusal(ctx context.Context, tc *toolbox.Context, c toolbox.Call) (err error) {
	switch c.Name {
	case "read", "ls", "grep", "find":
		// The error does not reveal whether a file exists, because a person may not want the model to know.
		err = refusalOf(c, func(in struct{ Path string }) error {
			if _, err := tc.Path(in.Path); err != nil {
				return pathFault(in.Path, err)
			}
			return nil
		})
	case "write":
		err = refusalOf(c, func(in writeInput) error { _, _, err := in.prepare(ctx, tc); return err })
	case "edit":
		err = refusalOf(c, func(in editInput) error { _, _, err := in.prepare(ctx, tc); return err })
	case "bash":
		err = refusalOf(c, func(in bashInput) error { _, err := startDir(tc, in.Dir); return err })
	case "process":
		err = refusalOf(c, func(in processInput) error { _, err := in.prepare(tc); return err })
	case "webfetch":
		err = refusalOf(c, d.fetcher.refusal)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	return nil
}

// refusalOf checks the input of a call. It ignores input that does not fit, because the registry refuses it.
func refusalOf[In any](c toolbox.Call, check func(In) error) error {
	var in In
	if json.Unmarshal(c.Input, &in) != nil {
		return nil
	}
	return check(in)
}

// refusal returns the error of a page that is never fetched, regardless of the address of its host. It resolves no
// name, because that would send the name.
func (f *fetcher) refusal(in webfetchInput) error {
	u, err := url.Parse(in.URL)
	if err == nil {
		err = checkURL(u)
	}
	if err != nil {
		return err
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		host = "127.0.0.1"
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return f.check(a)
	}
	return nil
}
