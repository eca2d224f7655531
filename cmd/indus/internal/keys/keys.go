package keys

import (
	"context"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/spf13/cobra"
)

// New returns the command key.
func New(s show.Streams) *cobra.Command {
	shared := &command.ClusterFlags{}
	cmd := command.NewGroup(cobra.Command{
		Use: "key", SuggestFor: []string{"keys", "apikey", "token"},
		Short: "Manage API keys for clients of indus serve", Long: keyHelp,
	}, newAdd(shared, s), newLs(shared, s), newRm(shared, s))
	command.AddClusterFlags(cmd, shared)
	return cmd
}

const keyHelp = `Manage API keys for clients of "indus serve --auth keys", on this machine and others.
A client sends its key as a bearer token, as indus_ID.SECRET; only the SHA-256 of
the secret is kept, in a file that you alone can read. A key that is removed, or has
expired, is refused from the next request on. With a "cluster" in the configuration,
all its replicas have these keys.

A session:
  $ indus key add --principal alice --view github --expires 90d
  indus: made the key k7q2m4xw9t of alice, for github, until 2026-10-26 …
  indus: it is shown this once; a client sends it as …
  indus_k7q2m4xw9t.SECRET
  $ indus serve --auth keys
  indus: serving at http://127.0.0.1:7332/mcp

` + keyExitHelp

const keyExitHelp = `Exit codes:
  0    ok
  1    the file of keys cannot be read or written
  2    usage: flags, and no such key
  4    the cluster cannot be reached: nothing is changed
  130  interrupted`

// Path returns the path of the file of keys. If there is no state directory, it returns "".
func Path() string { return command.StatePath("serve.apikeys.json") }

// Open returns the keys of the cluster of the configuration, or those of the user. Close the cluster afterwards.
func Open(
	ctx context.Context, f *command.ClusterFlags, s show.Streams,
) (*identity.Keys, *command.Cluster, error) {
	shared, err := f.Open(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	if shared != nil && shared.IsNew() {
		s.Reportf("cluster: NATS has nothing of it yet: a replica that runs already, from before NATS lost its data, " +
			"does not follow these keys until it is restarted")
	}
	path := Path()
	if path == "" && shared == nil {
		return nil, nil, keysError(errors.New("there is no place for them: set $HOME or $XDG_STATE_HOME"))
	}
	keys, err := shared.Keys(ctx, path)
	return keys, shared, err
}

// keysError returns an error about the file of keys, or about the cluster.
func keysError(err error) error { return command.StateError("keys", err) }

func newLs(c *command.ClusterFlags, s show.Streams) *cobra.Command {
	var asJSON bool
	cmd := command.New(s, func(ctx context.Context, _ []string, s show.Streams) error {
		return listKeys(ctx, c, asJSON, s)
	}, cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List the keys", Long: lsHelp,
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return cmd
}

const lsHelp = `List the API keys: their principals, groups, views and expiry. Secrets are not
kept, and so not shown.

A session:
  $ indus key ls
  ID          PRINCIPAL  GROUPS  VIEWS   CREATED              EXPIRES
  k7q2m4xw9t  ann        dev     github  2026-07-28 15:04:05  2026-10-26 15:…

` + keyExitHelp

func listKeys(ctx context.Context, c *command.ClusterFlags, asJSON bool, s show.Streams) error {
	keys, shared, err := Open(ctx, c, s)
	if err != nil {
		return err
	}
	defer shared.Close()
	all, err := keys.List()
	if err != nil {
		return keysError(err)
	}
	if asJSON {
		out := []keyJSON{}
		for _, k := range all {
			out = append(out, newKeyJSON(k))
		}
		return s.WriteIndented(out)
	}
	t := show.Table{Spare: []string{"CREATED", "GROUPS", "VIEWS"}}
	t.Add("ID", "PRINCIPAL", "GROUPS", "VIEWS", "CREATED", "EXPIRES")
	for _, k := range all {
		t.Add(k.ID, k.Name, strings.Join(k.Groups, ", "), viewsText(k), show.Time(k.Created), expiry(k))
	}
	return s.PrintTable(&t, `there are no keys%s; "indus key add%s" makes one`, c.AbsentPlace(), c.RepeatPaths())
}

func viewsText(k identity.Key) string {
	if k.Views == nil {
		return "all"
	}
	return strings.Join(k.Views, ", ")
}

func expiry(k identity.Key) string {
	switch {
	case k.Expires.IsZero():
		return "never"
	case k.Expired(time.Now()):
		return "expired " + show.Time(k.Expires)
	}
	return show.Time(k.Expires)
}

func newRm(c *command.ClusterFlags, s show.Streams) *cobra.Command {
	return command.New(s, func(ctx context.Context, args []string, s show.Streams) error {
		return removeKeys(ctx, c, args, s)
	}, cobra.Command{
		Use: "rm ID...", Aliases: []string{"remove", "delete"}, SuggestFor: []string{"revoke"},
		Short: "Remove keys", Long: rmHelp,
		Args:              command.Needs(1, `the ID of a key; "indus key ls" has them`, ""),
		ValidArgsFunction: command.Complete(math.MaxInt, keyIDs),
	})
}

func removeKeys(ctx context.Context, c *command.ClusterFlags, args []string, s show.Streams) error {
	keys, shared, err := Open(ctx, c, s)
	if err != nil {
		return err
	}
	defer shared.Close()
	before, err := keys.List()
	if err != nil {
		return keysError(err)
	}
	for _, arg := range args {
		id, _, _ := strings.Cut(strings.TrimPrefix(arg, identity.KeyPrefix), ".") // arg may be a whole key
		switch err := keys.Remove(ctx, id); {
		case errors.Is(err, identity.ErrNoKey):
			return command.Usagef(`there is no key %q%s; "indus key ls%s" lists the keys`, id, c.AbsentPlace(), c.RepeatPaths())
		case err != nil:
			return keysError(err)
		}
		s.Reportf("removed the key %s", id)
	}
	after, err := keys.List()
	if err != nil {
		return keysError(err)
	}
	return reportSignedIn(ctx, shared, principalsOf(before), principalsOf(after), s)
}

// principalsOf returns the principals that have a key.
func principalsOf(keys []identity.Key) map[string]bool {
	all := map[string]bool{}
	for _, k := range keys {
		all[string(k.Principal())] = true
	}
	return all
}

// reportSignedIn reports principals that lost their last key and are still signed in. A new key of that name has these
// sign-ins.
func reportSignedIn(
	ctx context.Context, shared *command.Cluster, before, after map[string]bool, s show.Streams,
) error {
	tokens, err := shared.Tokens(ctx, s)
	if err != nil {
		return err
	}
	defer tokens.Close()
	signIns, err := tokens.All(ctx)
	for _, one := range signIns {
		if principal := one.Principal; before[principal] && !after[principal] {
			after[principal] = true // report each principal once
			s.Reportf("%s has no key left and is still signed in: indus mcp logout --all --as %[1]s", show.Clean(principal))
		}
	}
	return err
}

const rmHelp = `Remove API keys: a client that sends one is refused from the next request on, and its open
streams end within seconds. A running "indus serve" applies this at once. The sign-ins of the
owner stay, and a later key of the same name has them.

A session:
  $ indus key rm k7q2m4xw9t
  indus: removed the key k7q2m4xw9t
  indus: user:ann has no key left and is still signed in: …

` + keyExitHelp

// keyIDs completes the ids of the keys in the file. It connects to no cluster.
func keyIDs(context.Context) []string {
	all, _ := identity.NewKeys(Path()).List()
	return show.Names(all, func(k identity.Key) string { return k.ID + "\t" + show.Clean(k.Name) })
}
