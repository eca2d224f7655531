package serve

import (
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/keys"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/identity"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/toolbox"
	"github.com/spf13/cobra"
)

// The values of --auth.
const (
	authNone = "none"
	authKeys = "keys"
)

var authWays = []string{authNone, authKeys}

// checkAuth refuses values of --auth that mean nothing, or do not go together.
func (a *admission) checkAuth(cmd *cobra.Command) error {
	for _, way := range a.auth {
		if !slices.Contains(authWays, way) {
			return command.Usagef("--auth %q: it is one of %s%s", way, strings.Join(authWays, ", "), command.DidYouMean(way, authWays))
		}
	}
	if slices.Contains(a.auth, authNone) && (len(a.auth) > 1 || a.tokenFile != "") {
		return command.Usagef("--auth none lets everyone in: give no other, and no --token-file")
	}
	if len(a.auth) == 0 && cmd.Flags().Changed("auth") {
		return command.Usagef("--auth is empty: it is one of %s", strings.Join(authWays, ", "))
	}
	return nil
}

// frontGuard says who clients are. What it asks changes with the configuration. nil: everyone is the local user.
type frontGuard struct {
	guard atomic.Pointer[identity.Guard]
}

// newFront is the one that the flags and the configuration ask for.
func (f *serveFlags) newFront(c *mcpconfig.Config, tokens identity.Verifier, log *slog.Logger) (*frontGuard, error) {
	if f.stdio || slices.Contains(f.auth, authNone) {
		return nil, nil
	}
	var verifiers []identity.Verifier
	if slices.Contains(f.auth, authKeys) {
		path := keys.Path()
		if path == "" {
			return nil, command.Usagef("--auth keys: there is no place for keys: set $HOME or $XDG_STATE_HOME")
		}
		file := identity.NewKeys(path)
		if _, err := file.List(); err != nil {
			return nil, command.Usagef("--auth keys: %w", err)
		}
		verifiers = append(verifiers, file)
	}
	if tokens != nil {
		verifiers = append(verifiers, tokens)
	}
	if verifiers == nil {
		return nil, nil
	}
	out := &frontGuard{}
	out.guard.Store(identity.NewGuard(&identity.Options{Resource: f.resource, Hosts: f.hosts, Logger: log}, verifiers...))
	return out, nil
}

// resource is the view that a request is for, or of metadata the view that they are about.
func (f *serveFlags) resource(r *http.Request) identity.Resource {
	path := strings.TrimSuffix(r.URL.Path, "/")
	if path == "" {
		path = "/mcp" // of all
	}
	below, name, ok := gateway.ViewOf(path)
	switch {
	case !ok:
		return identity.Resource{}
	case f.transparent != "": // at every path
		return identity.Resource{Path: below, Name: f.transparent}
	case name == "":
		return identity.Resource{Path: below}
	}
	return identity.Resource{Path: below + "/" + (&url.URL{Path: name}).EscapedPath(), Name: name}
}

// authenticate is host.Options.Authenticate.
func (f *frontGuard) authenticate() func(*http.Request) (toolbox.Principal, error) {
	if f == nil {
		return nil
	}
	return func(r *http.Request) (toolbox.Principal, error) { return f.guard.Load().Principal(r) }
}

// wellKnown is gateway.Options.WellKnown.
func (f *frontGuard) wellKnown() http.Handler {
	if f == nil {
		return nil
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.guard.Load().Metadata().ServeHTTP(w, r) })
}
