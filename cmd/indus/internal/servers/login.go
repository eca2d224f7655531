package servers

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/cmd/indus/internal/signin"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/interop/config"
	"github.com/spf13/cobra"
)

type loginFlags struct {
	command.ClusterFlags
	all, noBrowser bool
	as             string
}

func newLogin(s show.Streams) *cobra.Command {
	var f loginFlags
	cmd := command.New(s, f.login, cobra.Command{
		Use: "login [SERVER]...", Aliases: []string{"auth"}, SuggestFor: []string{"signin", "sign-in", "oauth"},
		Short: "Sign in to a server that requires it", Long: loginHelp, ValidArgsFunction: f.CompleteServers(math.MaxInt),
	})
	cmd.Flags().BoolVar(&f.all, "all", false, "every server that requires a sign-in and has none")
	cmd.Flags().BoolVar(&f.noBrowser, "no-browser", false,
		`print the address to open in any browser; then paste the address at which that
		browser ends, which is read from stdin`)
	cmd.Flags().StringVar(&f.as, "as", "",
		`PRINCIPAL  sign this caller of indus serve in, for servers with "per": "principal"
		("user:NAME" of a key's --principal; the log of indus serve names principals)`)
	f.Add(cmd)
	f.AddWait(cmd.Flags())
	return cmd
}

// checkPrincipal refuses a value of --as that is not a principal, because no caller could use its sign-in.
func (f *loginFlags) checkPrincipal() error {
	kind, name, _ := strings.Cut(f.as, ":")
	// See package identity.
	if f.as == "" || name != "" && slices.Contains([]string{"user", "key", "token"}, kind) || strings.Contains(f.as, "#") {
		return nil
	}
	return command.Usagef(
		`--as %s is no principal: write "user:%s" of a key's --principal, or the principal that the log of indus serve shows`,
		f.as, f.as)
}

const loginHelp = `Sign in to servers that require OAuth. The browser opens the page of the server's
authorization server. After you sign in, every indus on this machine uses the sign-in,
and renews it if that is possible. A running indus serve uses it at once.

Usage:
  indus mcp login SERVER... [FLAG]...
  indus mcp login --all

Flags:
  --*

If $BROWSER is set, it is the command that opens addresses. Sign-ins are stored in
oauth.json of the state directory, encrypted. The key is in the system's keychain, or in
a file beside it. If INDUS_STORE_KEY is set, it is the key. INDUS_KEYCHAIN=off turns off
the use of the keychain. If the configuration has a "cluster" and INDUS_STORE_KEY is set,
the sign-in is that of all its replicas.

A session:
  $ indus mcp login linear
  indus: linear: sign in at mcp.linear.app, in the browser that was opened; …
  indus: linear: signed in at https://mcp.linear.app, for read write, …`

// selectServers returns the servers that the arguments name, or with --all every server that supports a sign-in.
func (f *loginFlags) selectServers(ctx context.Context, args []string, s show.Streams) ([]config.Server, error) {
	switch {
	case f.all && len(args) > 0:
		return nil, command.Exclude("--all", strconv.Quote(args[0]))
	case !f.all && len(args) == 0:
		return nil, command.Usagef("name a server, or --all; indus mcp ls shows which want a sign-in")
	}
	servers, err := f.Choose(ctx, args, command.IsServer, s)
	if err != nil {
		return nil, err
	}
	if f.all {
		return slices.DeleteFunc(servers, func(o config.Server) bool { _, ok := signin.Address(o); return !ok }), nil
	}
	for _, o := range servers {
		if _, ok := signin.Address(o); !ok {
			return nil, command.Usagef("%s: %s", o.ID, noSignIn(o))
		}
	}
	return servers, nil
}

func noSignIn(o config.Server) string {
	_, process := o.Transport.(config.Stdio)
	switch {
	case process:
		return "it is a command, which has its credentials in its environment"
	case o.Forward.Authorization:
		return `it gets the callers' own tokens ("authorization": "forward")`
	case o.OAuth.Off:
		return `the configuration has "oauth": false`
	}
	return `the configuration has an Authorization for it in "headers"`
}

func (f *loginFlags) login(ctx context.Context, args []string, s show.Streams) error {
	if err := f.checkPrincipal(); err != nil {
		return err
	}
	servers, err := f.selectServers(ctx, args, s)
	if err != nil {
		return err
	}
	tokens, closeTokens, err := f.openTokens(ctx, s)
	if err != nil {
		return err
	}
	defer closeTokens()
	asking := &signin.Asking{Paste: f.noBrowser}
	var failed error
	for _, o := range servers {
		if f.all {
			skip, err := f.needsNone(ctx, tokens, o, s)
			if err != nil {
				s.Reportf("%v", err)
				failed = cmp.Or(failed, command.Said(err))
			}
			if skip || err != nil {
				continue
			}
		}
		if f.as != "" && o.Pool.Per != config.PerPrincipal {
			s.Reportf(
				"%s: its row has no \"per\": \"principal\": indus serve calls it for every caller with the sign-in without --as",
				o.ID)
		}
		err := tokens.SignIn(ctx, o, f.as, asking, s)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			err = f.report(ctx, tokens, o, s)
		}
		if err = failedLogin(o, err); err == nil {
			continue
		}
		if len(servers) == 1 {
			return err
		}
		s.Reportf("%v", err)
		failed = cmp.Or(failed, command.Said(err))
	}
	return failed
}

// openTokens opens the sign-ins: of the cluster of the configuration, or of the user.
func (f *loginFlags) openTokens(ctx context.Context, s show.Streams) (*signin.Tokens, func(), error) {
	shared, err := f.Open(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	tokens, err := shared.Tokens(ctx, s)
	if err != nil {
		shared.Close()
		return nil, nil, err
	}
	return tokens, func() { tokens.Close(); shared.Close() }, nil
}

// failedLogin returns the error of a sign-in, with its exit code.
func failedLogin(o config.Server, err error) error {
	if err == nil {
		return nil
	}
	failed := &command.ExitError{
		Code: command.ExitForbidden, Err: errors.New(o.ID + ": " + o.Mask(err.Error())), Try: signin.Advice(err, o.ID),
	}
	switch {
	case signin.IsNone(err):
		failed.Code, failed.Err = command.ExitUsage, errors.New(o.ID+": it wants no sign-in by OAuth: "+o.Mask(err.Error()))
	case command.ExitCode(err) == command.ExitUnreachable:
		failed.Code = command.ExitUnreachable
	}
	return failed
}

// needsNone reports, for --all, whether a server needs no sign-in now.
func (f *loginFlags) needsNone(
	ctx context.Context, tokens *signin.Tokens, o config.Server, s show.Streams,
) (bool, error) {
	st, err := tokens.Renewed(ctx, o, f.as)
	switch {
	case err != nil:
		return false, failedLogin(o, err)
	case st.SignedIn:
		s.Reportf("%s: %s", o.ID, signin.Describe(st))
		return true, nil
	}
	wants, err := tokens.Wants(ctx, o)
	if err == nil && !wants {
		s.Reportf("%s: it wants no sign-in", o.ID)
	}
	return !wants, failedLogin(o, err)
}

func (f *loginFlags) report(ctx context.Context, tokens *signin.Tokens, o config.Server, s show.Streams) error {
	st, err := tokens.Status(ctx, o, f.as)
	if err != nil {
		return err
	}
	suffix := ""
	if f.as != "" {
		suffix = " as " + f.as
	}
	s.Reportf("%s%s: %s", o.ID, suffix, signin.Describe(st))
	return nil
}

func newLogout(s show.Streams) *cobra.Command {
	var f loginFlags
	cmd := command.New(s, f.logout, cobra.Command{
		Use: "logout [SERVER]...", SuggestFor: []string{"signout", "sign-out"},
		Short: "Forget a sign-in", Long: logoutHelp, ValidArgsFunction: f.CompleteServers(math.MaxInt),
	})
	cmd.Flags().BoolVar(&f.all, "all", false,
		`every sign-in that is kept, of servers that are no longer configured and of every
		principal too, unless --as names one`)
	cmd.Flags().StringVar(&f.as, "as", "", "PRINCIPAL  the sign-in of this caller of indus serve")
	f.Add(cmd)
	f.AddWait(cmd.Flags())
	return cmd
}

const logoutHelp = `Remove sign-ins. The authorization server revokes them if it supports that (RFC 7009).
They are removed here in any case, and so is the registration of indus at that server:
the next sign-in creates another.

Usage:
  indus mcp logout SERVER... [FLAG]...
  indus mcp logout --all [--as PRINCIPAL]

A session:
  $ indus mcp logout linear
  indus: linear: signed out`

// storedSignIn is a sign-in to remove.
type storedSignIn struct {
	signin.SignedIn
	server config.Server
	name   string
}

func (f *loginFlags) logout(ctx context.Context, args []string, s show.Streams) error {
	tokens, closeTokens, err := f.openTokens(ctx, s)
	if err != nil {
		return err
	}
	defer closeTokens()
	list, err := f.storedSignIns(ctx, tokens, args, s)
	if err != nil {
		return err
	}
	var failed error
	for _, k := range list {
		had, err := tokens.SignOut(ctx, k.server, k.SignedIn)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && had:
			s.Reportf("%s: removed here, but not revoked at the authorization server: %s", k.name, k.server.Mask(err.Error()))
			failed = cmp.Or(failed, command.Said(err))
		case err != nil:
			return err
		case had:
			s.Reportf("%s: signed out", k.name)
		default:
			s.Reportf("%s: not signed in", k.name)
		}
	}
	if !f.all {
		return failed
	}
	if len(list) == 0 {
		s.Reportf("no sign-in is kept")
	}
	if f.as == "" {
		failed = cmp.Or(failed, tokens.ForgetRegistrations(ctx))
	}
	return failed
}

func (f *loginFlags) storedSignIns(
	ctx context.Context, tokens *signin.Tokens, args []string, s show.Streams,
) (list []storedSignIn, err error) {
	servers, err := f.selectServers(ctx, args, s)
	if err != nil {
		return nil, err
	}
	if !f.all {
		for _, o := range servers {
			address, _ := signin.Address(o)
			list = append(list, storedSignIn{signin.SignedIn{Resource: address, Principal: f.as}, o, o.ID})
		}
		return list, nil
	}
	all, err := tokens.All(ctx)
	for _, one := range all {
		if f.as != "" && f.as != one.Principal {
			continue
		}
		k := storedSignIn{SignedIn: one, name: secret.Target(one.Resource)}
		if one.Account != "" {
			k.name = one.Account + ": " + k.name
		}
		for _, o := range servers {
			if one.IsOf(o) {
				k.server, k.name = o, o.ID
			}
		}
		if one.Principal != "" {
			k.name += " as " + one.Principal
		}
		list = append(list, k)
	}
	return list, err
}
