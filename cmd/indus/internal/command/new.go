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

// New finishes a command that runs with the words of its command line. Without Args it takes no word if its Use has none.
func New(s show.Streams, run func(context.Context, []string, show.Streams) error, c cobra.Command) *cobra.Command {
	c.RunE = func(cmd *cobra.Command, words []string) error { return run(cmd.Context(), words, s) }
	if c.Args == nil && !strings.Contains(c.Use, " ") {
		c.Args = AtMost(0, "")
	}
	return &c
}

// groupOrder is the annotation of a group with the names of its commands, which cobra sorts.
const groupOrder = "order"

// NewGroup is a command that only has others below it.
func NewGroup(c cobra.Command, below ...*cobra.Command) *cobra.Command {
	c.Args, c.RunE = NoSuchCommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	c.AddCommand(below...)
	c.Annotations = map[string]string{groupOrder: strings.Join(show.Names(below, (*cobra.Command).Name), " ")}
	return &c
}

// AtMost refuses more than n arguments, which are called what.
func AtMost(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= n {
			return nil
		}
		takes := "takes no argument"
		if n > 0 {
			takes = "takes one " + what
		}
		return Usagef("%s %s, and %q is too many; see %s -h", CommandPath(cmd), takes, args[n], cmd.CommandPath())
	}
}

// Needs refuses fewer than n arguments, of which the error says what they are and where they are listed. A command that needs
// one and names it as most takes no more.
func Needs(n int, what, most string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < n:
			return Usagef("%s needs %s", CommandPath(cmd), what)
		case most != "":
			return AtMost(n, most)(cmd, args)
		}
		return nil
	}
}

// CommandPath is a command without the word indus: "mcp tools".
func CommandPath(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// MayBeEmpty is the annotation of a flag for which an empty value says something.
const MayBeEmpty = "empty"

// refuseEmpty refuses a flag whose value is empty, as where a script's variable is not set: what it asks for, such as a
// token, would be left away in silence.
func refuseEmpty(cmd *cobra.Command, _ []string) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		list, isList := f.Value.(pflag.SliceValue)
		if _, may := f.Annotations[MayBeEmpty]; may {
			return
		}
		if f.Value.String() == "" || isList && strings.Join(list.GetSlice(), "") == "" {
			err = Usagef("--%s is empty; see %s -h", f.Name, cmd.CommandPath())
		}
	})
	return err
}

// maxInput bounds what is read from a file or stdin.
const maxInput = 64 << 20

// FileReader reads files, and stdin as "-", up to maxInput. A read that hangs is left behind when ctx ends.
func FileReader(ctx context.Context, in io.Reader) func(name string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		text, err := atomicfile.ReadNamed(ctx, name, in, maxInput)
		if ctx.Err() == nil {
			err = AsUsage(err)
		}
		return text, err
	}
}
