package keys

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/spf13/cobra"
)

// addFlags holds the properties of a new key.
type addFlags struct {
	*command.ClusterFlags
	principal, expires string
	views, groups      []string
	admin, asJSON      bool
}

func newAdd(c *command.ClusterFlags, s show.Streams) *cobra.Command {
	f := addFlags{ClusterFlags: c}
	cmd := command.New(s, f.run, cobra.Command{
		Use: "add", Aliases: []string{"new", "create"}, Short: "Create a key, and print it once", Long: addHelp,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return command.Usagef("key add takes no argument, but an owner: indus key add --principal %s",
				show.ShellWord(args[0]))
		},
	})
	cmd.Flags().StringVar(&f.principal, "principal", "",
		`NAME  the owner: several keys with one name are one principal, with sessions and
		limits in common (default: the key is a principal of its own)`)
	cmd.Flags().Var(command.Repeated(&f.groups), "group",
		"NAME  a group that callers with the key are in, for policies; may be repeated")
	cmd.Flags().BoolVar(&f.admin, "admin", false, `like --group admin: members may administer "indus serve"`)
	cmd.Flags().Var(command.Repeated(&f.views), "view",
		`VIEW  a view for which it is valid, named as in the path after /mcp/: a server, or
		@NAME; may be repeated (default: all views, and /mcp)`)
	cmd.Flags().StringVar(&f.expires, "expires", "",
		"TIME  how long it is valid, such as 90d or 12h (default: until it is removed)")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, `print a JSON object, with the key as "token"`)
	return cmd
}

const addHelp = `Create an API key, and print it on stdout. It is printed only once, because only the
SHA-256 of its secret is kept. Secret scanners can find it by indus_[a-z2-7]{10}\.[a-z2-7]{52}

A session:
  $ indus key add --principal ci --expires 90d > ci.key
  indus: made the key k7q2m4xw9t of ci, until 2026-10-26 15:04:05, …
  indus: it is shown this once; a client sends it as …

` + keyExitHelp

func (f *addFlags) run(ctx context.Context, _ []string, s show.Streams) error {
	key := identity.Key{Name: f.principal, Groups: f.groups, Views: f.views}
	if f.admin {
		key.Groups = append(key.Groups, identity.AdminGroup)
	}
	for _, v := range f.views {
		if strings.Trim(v, "@") == "" || strings.ContainsAny(v, "/ ") {
			return command.Usagef("--view %q: write a server, or @NAME, as the path has it behind /mcp/", v)
		}
	}
	if f.expires != "" {
		d, ok := show.ParseDuration(f.expires)
		if !ok || d == 0 {
			return command.Usagef("--expires %q: write how long it is good, such as 90d or 12h", f.expires)
		}
		key.Expires = time.Now().Add(d).UTC().Truncate(time.Second)
	}
	if err := f.checkViews(ctx, s); err != nil {
		return err
	}
	return f.add(ctx, key, s)
}

// checkViews reports views that the configuration lacks. The key may be for an indus serve with another configuration.
func (f *addFlags) checkViews(ctx context.Context, s show.Streams) error {
	if f.views == nil {
		return nil
	}
	c, err := f.ReadDry(ctx)
	if err != nil {
		return err
	}
	var known []string
	for _, r := range c.Rows {
		id := r.Server.ID
		if strings.HasPrefix(id, "@") { // with one @, it would be a view
			id = "@" + id
		}
		known = append(known, id)
	}
	for _, v := range c.Views {
		known = append(known, "@"+v.Name)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	for _, v := range f.views {
		if slices.Contains(known, v) {
			continue
		}
		available := "there is none"
		if len(known) > 0 {
			available = "there are " + show.List(known, maxNamedViews, "views")
		}
		s.Reportf("%s",
			show.Clean("warning: the configuration has no view "+v+", so the key opens nothing until it has: "+available+
				command.DidYouMean(v, known)))
	}
	return nil
}

// maxNamedViews is the number of views that a message names.
const maxNamedViews = 20

func (f *addFlags) add(ctx context.Context, key identity.Key, s show.Streams) error {
	keys, shared, err := Open(ctx, f.ClusterFlags, s)
	if err != nil {
		return err
	}
	defer shared.Close()
	token, key, err := keys.Add(ctx, key)
	switch {
	case errors.Is(err, identity.ErrName):
		return command.Usagef("--principal: %w", err)
	case errors.Is(err, identity.ErrGroup):
		return command.Usagef("--group: %w", err)
	case err != nil:
		return keysError(err)
	}
	text := "made the key " + key.ID
	if key.Name != "" {
		text += " of " + key.Name
	}
	if key.Groups != nil {
		text += ", in " + strings.Join(key.Groups, ", ")
	}
	if key.Views != nil {
		text += ", for " + strings.Join(key.Views, ", ")
	}
	if !key.Expires.IsZero() {
		text += ", until " + show.Time(key.Expires)
	}
	s.Reportf("%s, %s", show.Clean(text), f.Place())
	s.Reportf(`it is shown this once; a client sends it as "Authorization: Bearer KEY"`)
	if f.asJSON {
		return s.WriteIndented(struct {
			Token string `json:"token"`
			keyJSON
		}{token, newKeyJSON(key)})
	}
	return s.WriteText(token + "\n")
}

// keyJSON is a key in the output of --json, without its hash.
type keyJSON struct {
	ID        string     `json:"id"`
	Principal string     `json:"principal"`
	Groups    []string   `json:"groups"`
	Views     []string   `json:"views"` // null stands for all
	Created   time.Time  `json:"created"`
	Expires   *time.Time `json:"expires"` // null stands for never
	Expired   bool       `json:"expired"`
}

func newKeyJSON(k identity.Key) keyJSON {
	out := keyJSON{
		ID: k.ID, Principal: cmp.Or(k.Name, k.ID), Groups: append([]string{}, k.Groups...), Views: k.Views,
		Created: k.Created, Expired: k.Expired(time.Now()),
	}
	if !k.Expires.IsZero() {
		out.Expires = &k.Expires
	}
	return out
}
