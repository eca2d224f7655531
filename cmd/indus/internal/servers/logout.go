package servers

import (
	"cmp"
	"context"
	"math"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/cmd/indus/internal/signin"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/interop"
	"github.com/spf13/cobra"
)

func newLogout(s show.Streams) *cobra.Command {
	var f loginFlags
	cmd := command.New(s, f.logout, cobra.Command{
		Use: "logout [SERVER]...", SuggestFor: []string{"signout", "sign-out"},
		Short: "Forget a sign-in", Long: logoutHelp, ValidArgsFunction: f.CompleteServers(math.MaxInt),
	})
	cmd.Flags().BoolVar(&f.all, "all", false, `every sign-in that is kept, of servers that are no longer configured and of every
		principal too, unless --as names one`)
	cmd.Flags().StringVar(&f.as, "as", "", "PRINCIPAL  the sign-in of this caller of indus serve")
	f.Add(cmd)
	return cmd
}

const logoutHelp = `Forget sign-ins. The authorization server ends them where it can (RFC 7009); they are
forgotten here in any case. So is the registration of indus there: the next sign-in
makes another.

Usage:
  indus mcp logout SERVER... [FLAG]...
  indus mcp logout --all [--as PRINCIPAL]

A session:
  $ indus mcp logout linear
  indus: linear: signed out

` + command.ExitHelp

// kept is a sign-in to forget.
type kept struct {
	signin.SignedIn
	server interop.Server
	name   string
}

func (f *loginFlags) logout(ctx context.Context, args []string, s show.Streams) error {
	tokens := signin.Open(s)
	defer tokens.Close()
	list, err := f.kept(ctx, tokens, args, s)
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
			s.Reportf("%s: forgotten here, but the authorization server was not told: %s", k.name, k.server.Mask(err.Error()))
			failed = cmp.Or(failed, command.Said(err))
		case err != nil:
			return err
		case had:
			s.Reportf("%s: signed out", k.name)
		default:
			s.Reportf("%s: nobody is signed in", k.name)
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

func (f *loginFlags) kept(ctx context.Context, tokens *signin.Tokens, args []string, s show.Streams) (list []kept, err error) {
	servers, err := f.wanted(ctx, args, s)
	if err != nil {
		return nil, err
	}
	if !f.all {
		for _, o := range servers {
			address, _ := signin.Address(o)
			list = append(list, kept{signin.SignedIn{Resource: address, Principal: f.as}, o, o.ID})
		}
		return list, nil
	}
	all, err := tokens.All(ctx)
	for _, one := range all {
		if f.as != "" && f.as != one.Principal {
			continue
		}
		k := kept{SignedIn: one, name: secret.Target(one.Resource)}
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
