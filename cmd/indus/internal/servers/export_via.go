package servers

import (
	"context"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/spf13/cobra"
)

const (
	viaGateway    = "gateway"
	gatewayURL    = "http://127.0.0.1:7332/mcp"
	tokenVariable = "INDUS_TOKEN"
)

// remote is a running indus serve, or a view of it.
func (f *exportFlags) remote(ctx context.Context) (mcpconfig.Entry, error) {
	entry := mcpconfig.Entry{ID: "indus"}
	at := f.via
	if at == viaGateway {
		at = gatewayURL
	}
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return entry, command.Usagef("--via %q: write %s, or the URL that indus serve reports, such as %s", f.via, viaGateway, gatewayURL)
	}
	if f.view != "" {
		part, err := f.viewPath(ctx)
		if err != nil {
			return entry, err
		}
		u = u.JoinPath(part)
		entry.ID += "-" + strings.TrimPrefix(f.view, "@")
	}
	if entry.URL = u.String(); os.Getenv(tokenVariable) != "" {
		entry.Token = tokenVariable
	}
	return entry, nil
}

// viewPath is where the view is below /mcp: a view's name goes before a server's, and "@NAME" is a view.
func (f *exportFlags) viewPath(ctx context.Context) (string, error) {
	c, err := f.ReadDry(ctx)
	if err != nil {
		return "", err
	}
	views := show.Names(c.Views, func(v mcpconfig.View) string { return v.Name })
	name, isView := strings.CutPrefix(f.view, "@")
	switch {
	case slices.Contains(views, name):
		return "@" + name, nil
	case !isView && slices.Contains(command.IDs(c.Servers()), name):
		return url.PathEscape(name), nil
	}
	return "", command.Usagef("no view and no server %q is configured%s", f.view, command.DidYouMean(name, append(views, command.IDs(c.Servers())...)))
}

func (f *exportFlags) completeViews(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	c, err := f.ReadDry(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	views := show.Names(c.Views, func(v mcpconfig.View) string { return v.Name })
	return command.WithPrefix(typed, append(views, command.IDs(c.Servers())...)), cobra.ShellCompDirectiveNoFileComp
}
