package oauth

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strings"
)

// Paste is an [Interaction] for a machine without a browser. The person opens the address on another machine.
// The browser ends at an address that it cannot show, and the person pastes that address back.
type Paste struct {
	// Show shows the address to the person.
	Show func(authorize string) error
	// Read returns the next line that the person typed.
	Read func(ctx context.Context) (string, error)
	// Redirect is the registered address of the client, or its beginning. If it is "", the address of the last
	// sign-in is used, or else "http://127.0.0.1:7333/callback".
	Redirect string
}

var _ Interaction = (*Paste)(nil)

const (
	pasteRedirect = "http://127.0.0.1:7333/callback"
	maxPasted     = 16 << 10 // bytes
	maxPastes     = 5
)

// Begin asks for nothing yet.
func (p *Paste) Begin(_ context.Context, redirect, pathSuffix string) (Redirection, error) {
	uri := cmp.Or(p.Redirect, pasteRedirect) + pathSuffix
	if p.Redirect == "" && redirect != "" && strings.HasSuffix(redirect, pathSuffix) {
		uri = redirect
	}
	return &pasteRedirection{p, uri}, nil
}

type pasteRedirection struct {
	*Paste
	uri string
}

func (p *pasteRedirection) URI() string { return p.uri }

func (p *pasteRedirection) Close() error { return nil }

// Ask accepts the whole address, or only its query. If a line is neither, Ask reads another one.
func (p *pasteRedirection) Ask(ctx context.Context, authorize string) (url.Values, error) {
	u, err := url.Parse(authorize)
	if err != nil {
		return nil, err
	}
	state := u.Query().Get("state")
	if err := p.Show(authorize); err != nil {
		return nil, err
	}
	for range maxPastes {
		line, err := p.Read(ctx)
		if err != nil {
			return nil, err
		}
		line = strings.TrimSpace(line)
		if at := strings.IndexByte(line, '?'); at >= 0 {
			line = line[at+1:]
		}
		line, _, _ = strings.Cut(line, "#")
		if answer, err := url.ParseQuery(line); err == nil && len(line) <= maxPasted && answer.Get("state") == state {
			return answer, nil
		}
	}
	return nil, errors.New("none of the lines is the address at which the browser ended")
}
