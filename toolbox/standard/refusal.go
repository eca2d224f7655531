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
	// CheckWrite returns the error that WriteFile is going to return for that name, as far as it is known.
	CheckWrite(name string) error
}

// Refusal returns the error that a call of a deck's tool is going to end with, as far as that is known before the call
// runs: a path outside of the directory, a file that was not read, an address that is not public. nil: it may succeed. It
// changes nothing and sends nothing, so that a person need not be asked about a call that cannot run.
func (d *Deck) Refusal(ctx context.Context, tc *toolbox.Context, c toolbox.Call) (err error) {
	switch c.Name {
	case "read", "ls", "grep", "find":
		// Whether there is a file is not said: a person may not want the model to know.
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

// refusalOf checks the input of a call. An input that does not fit is the registry's to refuse.
func refusalOf[In any](c toolbox.Call, check func(In) error) error {
	var in In
	if json.Unmarshal(c.Input, &in) != nil {
		return nil
	}
	return check(in)
}

// refusal is a page's that is not fetched whatever its host's name means. It resolves no name: that would send the name.
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
