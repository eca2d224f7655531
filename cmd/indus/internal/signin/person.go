package signin

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"github.com/indusagi/indus/auth/oauth"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig"
)

// Asking selects how a person signs in.
type Asking struct {
	// Paste prints the address to open, and reads the browser's final address from stdin. False uses the local browser.
	Paste bool
	lines <-chan string
	stop  func() // removes the line that is shown while the person signs in
}

// SignIn lets a person sign in for a principal. If the server is configured so, the client itself signs in.
func (t *Tokens) SignIn(
	ctx context.Context, s config.Server, principal string, asking *Asking, out show.Streams,
) error {
	address, ok := Address(s)
	if !ok {
		return errNoSignIn
	}
	if t.store == nil {
		return errNoStore
	}
	c, err := t.newClient(s, asking.interaction(s, out), t.Site)
	if err != nil {
		return err
	}
	defer c.Close()
	defer func() { asking.stop() }()
	asking.stop = func() {}
	return c.SignIn(ctx, address, principal)
}

func (a *Asking) interaction(s config.Server, streams show.Streams) oauth.Interaction {
	if a.Paste {
		pasted := false
		p := &oauth.Paste{
			Show: func(authorize string) error {
				streams.Reportf("%s: open this address in a browser, on any machine:", s.ID)
				fmt.Fprintf(streams.Err, "\n  %s\n\n", show.Clean(authorize))
				streams.Reportf("it ends at an address of this machine, which it may not be able to show: paste that address here")
				return nil
			},
			Read: func(ctx context.Context) (string, error) {
				a.stop()
				if pasted {
					streams.Reportf(
						"%s: that is not the address at which this sign-in ended; paste it whole, with its state=…, on one line", s.ID)
				}
				pasted = true
				line, err := a.line(ctx, streams)
				if err == nil {
					a.stop = streams.Waiting("signing in")
				}
				return line, err
			},
		}
		p.Redirect = s.OAuth.RedirectURI
		return p
	}
	return &oauth.Loopback{Redirect: s.OAuth.RedirectURI, Open: func(_ context.Context, authorize string) error {
		host := "the authorization server"
		if u, err := url.Parse(authorize); err == nil {
			host = u.Host
		}
		if err := OpenBrowser(authorize); err != nil {
			streams.Reportf(
				"%s: no browser can be opened here (%v); open this address on this machine, or end this and use --no-browser:",
				s.ID, err)
		} else {
			streams.Reportf("%s: sign in at %s, in the browser that has been opened; if none comes up, open this address:", s.ID,
				host)
		}
		fmt.Fprintf(streams.Err, "\n  %s\n\n", show.Clean(authorize))
		a.stop = streams.Waiting("waiting until you have signed in at " + host)
		return nil
	}}
}

// line returns the next line of stdin.
func (a *Asking) line(ctx context.Context, out show.Streams) (string, error) {
	if a.lines == nil {
		a.lines = out.Lines()
	}
	select {
	case line, ok := <-a.lines:
		if !ok {
			return "", errors.New("stdin has ended, and the address was not pasted")
		}
		return line, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// OpenBrowser opens an address with $BROWSER, where %s stands for the address, or else with the command of the system.
func OpenBrowser(address string) error {
	command := []string{"xdg-open"}
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open"}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	if own, _, _ := strings.Cut(os.Getenv("BROWSER"), string(os.PathListSeparator)); strings.TrimSpace(own) != "" {
		command = strings.Fields(own)
	} else if runtime.GOOS == "linux" && os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return errors.New("there is no display")
	}
	placed := false
	for i, word := range command {
		if strings.Contains(word, "%s") {
			command[i], placed = strings.ReplaceAll(word, "%s", address), true
		}
	}
	if !placed {
		command = append(command, address)
	}
	cmd := exec.Command(command[0], command[1:]...)
	keys := mcpconfig.KeyVariables(nil)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains(keys, name)
	})
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release() // without waiting: the process may live as long as the browser
}
