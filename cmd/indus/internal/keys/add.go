package keys

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/identity"
	"github.com/spf13/cobra"
)

// addFlags holds the properties of a new key.
type addFlags struct {
	command.ConfigFlags
	principal, expires string
	views              []string
	asJSON             bool
}

func newAdd(s show.Streams) *cobra.Command {
	var f addFlags
	cmd := command.New(s, f.run, cobra.Command{
		Use: "add", Aliases: []string{"new", "create"}, Short: "Make a key, and print it this once", Long: addHelp,
	})
	cmd.Flags().StringVar(&f.principal, "principal", "",
		`NAME  the owner: several keys with one name are one principal, with sessions and
		limits in common (default: the key is a principal of its own)`)
	cmd.Flags().StringArrayVar(&f.views, "view", nil,
		`VIEW  a view that it is good for, as the path has it behind /mcp/: a server, or @NAME;
		may be repeated (default: all, /mcp itself too)`)
	cmd.Flags().StringSliceVar(&f.Paths, "mcp", nil,
		`PATH  the configuration of "indus serve", in which views are looked up: a view that is
		not there is reported (default: the working directory, then the user's own files)`)
	cmd.Flags().StringVar(&f.expires, "expires", "",
		"TIME  how long it is good, such as 90d or 12h (default: until it is removed)")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, `print a JSON object, with the key as "token"`)
	return cmd
}

const addHelp = `Make an API key, and print it on stdout: this once, because only the SHA-256 of its
secret is kept. Scanners find it in a text by indus_[a-z2-7]{10}\.[a-z2-7]{52}

A session:
  $ indus key add --principal ci --expires 90d > ci.key
  indus: made the key k7q2m4xw9t of ci, until 2026-10-26 15:04:05
  indus: it is shown this once; a client sends it as "Authorization: Bearer KEY"

` + keyExitHelp

func (f *addFlags) run(ctx context.Context, _ []string, s show.Streams) error {
	key := identity.Key{Name: f.principal, Views: f.views}
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
	keys, err := openForWriting()
	if err != nil {
		return err
	}
	token, key, err := keys.Add(ctx, key)
	switch {
	case errors.Is(err, identity.ErrName):
		return command.Usagef("--principal: %w", err)
	case err != nil:
		return keysError(err)
	}
	text := "made the key " + key.ID
	if key.Name != "" {
		text += " of " + key.Name
	}
	if key.Views != nil {
		text += ", for " + strings.Join(key.Views, ", ")
	}
	if !key.Expires.IsZero() {
		text += ", until " + timeText(key.Expires)
	}
	s.Reportf("%s", show.Clean(text))
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
	Views     []string   `json:"views"` // null stands for all
	Created   time.Time  `json:"created"`
	Expires   *time.Time `json:"expires"` // null stands for never
	Expired   bool       `json:"expired"`
}

func newKeyJSON(k identity.Key) keyJSON {
	out := keyJSON{
		ID: k.ID, Principal: cmp.Or(k.Name, k.ID), Views: k.Views, Created: k.Created, Expired: k.Expired(time.Now()),
	}
	if !k.Expires.IsZero() {
		out.Expires = &k.Expires
	}
	return out
}
