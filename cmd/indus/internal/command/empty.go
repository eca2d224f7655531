package command

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

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
