package command

import (
	"context"
	"io"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// New returns a command that calls run with its arguments. Without Args, and without an argument in Use, it takes none.
func New(s show.Streams, run func(context.Context, []string, show.Streams) error, c cobra.Command) *cobra.Command {
	c.RunE = func(cmd *cobra.Command, words []string) error { return run(cmd.Context(), words, s) }
	if c.Args == nil && !strings.Contains(c.Use, " ") {
		c.Args = AtMost(0, "")
	}
	return &c
}

// groupOrder is the annotation with the names of a group's commands in order. cobra sorts its own list.
const groupOrder = "order"

// NewGroup returns a command that only has sub-commands.
func NewGroup(c cobra.Command, below ...*cobra.Command) *cobra.Command {
	c.Args, c.RunE = NoSuchCommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	c.AddCommand(below...)
	c.Annotations = map[string]string{groupOrder: strings.Join(show.Names(below, (*cobra.Command).Name), " ")}
	return &c
}

// AtMost refuses more than n arguments. The second parameter names them in the error.
func AtMost(n int, noun string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= n {
			return nil
		}
		takes := "takes no argument"
		if n == 1 {
			takes = "takes one " + noun
		} else if n > 1 {
			takes = "takes " + noun
		}
		return Usagef("%s %s, and %q is too many; see %s -h", CommandPath(cmd), takes, args[n], cmd.CommandPath())
	}
}

// Needs refuses fewer than n arguments. The error describes them with the second parameter. If most is not "", Needs
// also refuses more than n.
func Needs(n int, required, most string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < n:
			return Usagef("%s needs %s", CommandPath(cmd), required)
		case most != "":
			return AtMost(n, most)(cmd, args)
		}
		return nil
	}
}

// CommandPath returns the path of a command without "indus": "mcp tools".
func CommandPath(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// MayBeEmpty is the annotation of a flag for which an empty value has a meaning.
const MayBeEmpty = "empty"

// refuseEmpty refuses a flag with an empty value, for example from an unset variable in a script. Otherwise the value,
// such as a token, would be missing without notice.
func refuseEmpty(cmd *cobra.Command, _ []string) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		list, isList := f.Value.(*texts)
		if _, allowed := f.Annotations[MayBeEmpty]; allowed {
			return
		}
		if f.Value.String() == "" || isList && strings.Join(*list.all, "") == "" {
			err = Usagef("--%s is empty; see %s -h", f.Name, cmd.CommandPath())
		}
	})
	return err
}

// maxInput bounds the bytes that are read from a file or from stdin.
const maxInput = 64 << 20

// FileReader returns a function that reads files up to maxInput; "-" is stdin. If ctx ends, it abandons a blocked read.
func FileReader(ctx context.Context, in io.Reader) func(name string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		text, err := atomicfile.ReadNamed(ctx, name, in, maxInput)
		if ctx.Err() == nil {
			err = AsUsage(err)
		}
		return text, err
	}
}
