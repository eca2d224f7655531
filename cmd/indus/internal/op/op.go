package op

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/arguments"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/signature"
	"github.com/indusagi/indus/operation"
	"github.com/indusagi/indus/operation/bridge"
	"github.com/spf13/cobra"
)

// New returns the command op.
func New(s show.Streams) *cobra.Command {
	return command.NewGroup(cobra.Command{Use: "op", Short: "Try the tools of one MCP server as operations", Long: opHelp},
		newOpLs(s), newOpSchema(s), newOpCall(s))
}

const opHelp = `Try the tools of one MCP server as operations: named, typed, with declared
errors, as a Go program gets them from operation/bridge. The server is a URL of
streamable HTTP; no configuration is read, and nothing is started.

A session:
  $ indus op ls http://127.0.0.1:3001/mcp
  mutation  echo(message: string)
      Echoes back the input string
  $ indus op call http://127.0.0.1:3001/mcp get-sum a=2 b=40
  [
    {
      "type": "text",
      "text": "The sum of 2 and 40 is 42."
    }
  ]

` + opExitHelp

const opExitHelp = `Exit codes:
  0    ok
  1    the server refuses the request (MCP_REFUSED), or violates the protocol or
       its own schema (INTERNAL)
  2    usage: flags, names and files, NOT_FOUND, INVALID_INPUT
  3    the server requires a token, or another one (MCP_UNAUTHORIZED)
  4    the server cannot be reached (MCP_UNAVAILABLE), or not in time (TIMEOUT)
  5    the tool ran and failed (MCP_TOOL_ERROR)
  130  interrupted`

// opFlags holds the flags of all commands of op.
type opFlags struct {
	namespace           string
	trust, asJSON       bool
	tokenFile, tokenEnv string
	input               *arguments.Input // for a call
	specs               []operation.Spec // of the server, as the adapter made them
}

// command returns a command of op. Its first argument is the URL of a server, and run gets the server's operations.
func (f *opFlags) command(
	s show.Streams, json string, run func(ctx context.Context, r *operation.Registry, args []string) error,
	c cobra.Command,
) *cobra.Command {
	c.ValidArgsFunction = cobra.NoFileCompletions
	cmd := command.New(s, func(ctx context.Context, args []string, s show.Streams) error {
		r, err := f.operations(ctx, args[0], s)
		if err != nil {
			return err
		}
		defer r.Close()
		return run(ctx, r, args[1:])
	}, c)
	cmd.Flags().BoolVar(&f.asJSON, "json", false, json)
	cmd.Flags().StringVar(&f.namespace, "namespace", "",
		`NAME  prefix the names of operations: NAME/tool (default: the names of the tools)`)
	cmd.Flags().BoolVar(&f.trust, "trust-annotations", false,
		`treat a tool that its server marks as read-only as a query (default: all are
		mutations, because a hint grants nothing)`)
	cmd.Flags().StringVar(&f.tokenFile, "token-file", "", `FILE  send the bearer token in a file; "-" is stdin`)
	cmd.Flags().StringVar(&f.tokenEnv, "token-env", "", "VAR  send the bearer token in a variable")
	return cmd
}

// operations returns the tools of the server at a URL, as operations in a registry. The caller closes the registry.
func (f *opFlags) operations(ctx context.Context, endpoint string, s show.Streams) (*operation.Registry, error) {
	if u, err := url.Parse(endpoint); err == nil && u.User != nil {
		return nil, command.Usagef("the URL has a user or a password in it: give a token by --token-file or --token-env")
	}
	token, err := f.token(ctx, s)
	if err != nil {
		return nil, err
	}
	s.Learn(token)
	from := &bridge.FromMCP{
		Endpoint: endpoint, Namespace: f.namespace, Prefix: f.namespace != "", Token: token, TrustAnnotations: f.trust,
	}
	if from.Namespace == "" {
		from.Namespace = hostOf(endpoint)
	}
	stop := s.ReportSlow(func() []string { return []string{hostOf(endpoint)} })
	all, err := from.Import(ctx)
	stop()
	if err != nil {
		return nil, f.importError(ctx, err)
	}
	f.specs = []operation.Spec{}
	for i := range all {
		f.specs = append(f.specs, all[i].Spec)
		all[i].Spec.Visibility = operation.External // the adapter makes them Internal; here a person is the caller
	}
	r := operation.NewRegistry(nil)
	if err := r.Add(all...); err != nil {
		for _, one := range all {
			one.Release()
		}
		return nil, err
	}
	for _, q := range from.Quarantined() {
		if !q.Mended {
			s.Reportf("%s", q)
		}
	}
	return r, nil
}

// hostOf returns the default name of a server: the host of its URL.
func hostOf(endpoint string) string {
	if u, err := url.Parse(endpoint); err == nil && u.Host != "" {
		return u.Host
	}
	return "server"
}

// importError adds an exit code to an error of getting the operations.
func (f *opFlags) importError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	cause := errors.New(strings.TrimPrefix(err.Error(), "bridge: "))
	switch {
	case errors.Is(err, operation.Unauthorized):
		return &command.ExitError{Code: command.ExitForbidden, Err: cause, Try: f.tokenAdvice()}
	case errors.Is(err, operation.DiscoveryFailed):
		return &command.ExitError{Code: command.ExitCode(err), Err: cause}
	}
	return command.Usagef("%w", cause)
}

func (f *opFlags) tokenAdvice() string {
	if f.tokenFile+f.tokenEnv != "" {
		return "it does not take this token"
	}
	return "give it a token: --token-file FILE or --token-env VAR"
}

// maxToken bounds the size of a token, in bytes.
const maxToken = 64 << 10

// token returns the bearer token that a flag names, or an empty one. It is never shown.
func (f *opFlags) token(ctx context.Context, s show.Streams) (operation.Secret, error) {
	var text, from string
	switch {
	case f.tokenFile != "" && f.tokenEnv != "":
		return operation.Secret{}, command.Exclude("--token-file", "--token-env")
	case f.tokenFile != "":
		raw, err := command.FileReader(ctx, s.In)(f.tokenFile)
		if err != nil {
			return operation.Secret{}, err
		}
		text, from = strings.TrimRight(string(raw), "\r\n"), "--token-file "+f.tokenFile
	case f.tokenEnv != "":
		text, from = os.Getenv(f.tokenEnv), "--token-env "+f.tokenEnv
	default:
		return operation.Secret{}, nil
	}
	switch {
	case text == "":
		return operation.Secret{}, command.Usagef("%s: there is no token in it", from)
	case len(text) > maxToken || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }):
		return operation.Secret{}, command.Usagef(
			"%s: that is no token: one is a line of ASCII without spaces, at most %d KiB", from, maxToken>>10)
	}
	return operation.NewSecret(text), nil
}

// find returns the operation with a name. If there is none, the error suggests similar names.
func (f *opFlags) find(name string) (operation.Spec, error) {
	if i := slices.IndexFunc(f.specs, func(s operation.Spec) bool { return s.Name == name }); i >= 0 {
		return f.specs[i], nil
	}
	known := show.Names(f.specs, func(s operation.Spec) string { return s.Name })
	return operation.Spec{}, command.Usagef("no operation named %q%s", name,
		cmp.Or(command.DidYouMean(name, known), "; indus op ls lists them"))
}

func newOpLs(s show.Streams) *cobra.Command {
	var f opFlags
	return f.command(s, "print a JSON array of all that is known of each",
		func(context.Context, *operation.Registry, []string) error { return f.printOps(s) },
		cobra.Command{
			Use: "ls URL", Aliases: []string{"list"}, Short: "List the operations of a server", Long: opLsHelp,
			Args: command.Needs(1, "a URL; see indus op ls -h", "URL"),
		})
}

const opLsHelp = `List the operations that the tools of a server become: the kind of each, its
arguments (a "?" marks optional ones) and its description. Tools that cannot be
operations are reported on stderr, with the reason.

A session:
  $ indus op ls http://127.0.0.1:3001/mcp --namespace all --trust-annotations
  query     all/echo(message: string)
      Echoes back the input string
  …

` + opExitHelp

func (f *opFlags) printOps(s show.Streams) error {
	if f.asJSON {
		return s.WriteIndented(f.specs)
	}
	var p show.Page
	for _, spec := range f.specs {
		p.Printf("%-8s  %s\n", spec.Kind, spec.Name+signature.Parse(spec.Input).Signature(arguments.Style))
		if text := show.Summary(spec.Description); text != "" {
			p.Printf("    %s\n", text)
		}
	}
	return s.Print(&p)
}

func newOpSchema(s show.Streams) *cobra.Command {
	var f opFlags
	return f.command(s, "print JSON, as it does anyway",
		func(_ context.Context, _ *operation.Registry, args []string) error {
			spec, err := f.find(args[0])
			if err != nil {
				return err
			}
			return s.WriteIndented(spec)
		}, cobra.Command{
			Use: "schema URL NAME", Short: "Show the schema of one operation", Long: opSchemaHelp,
			Args: command.Needs(2, "a URL and the name of an operation; see indus op schema -h",
				"a URL and the name of an operation"),
		})
}

const opSchemaHelp = `Show one operation as JSON: its name, kind and description, the schema of its input
as the server wrote it, the schema of its value, and its possible errors.

A session:
  $ indus op schema http://127.0.0.1:3001/mcp get-sum | jq .input.required
  [
    "a",
    "b"
  ]

` + opExitHelp
