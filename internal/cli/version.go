package cli

import (
	"fmt"
	"runtime/debug"

	"github.com/indusagi/indus/host"
	"github.com/spf13/cobra"
)

func newVersion(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Which indus this is",
		Long:  "Which indus this is.\n\nUsage:\n  indus version\n\nA session:\n  $ indus version\n  indus " + version(),
		Args:  atMost(0, ""),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(s.out, "indus %s\n", version())
			return err
		},
	}
}

// version is the module's, where the build knows it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return host.DefaultInfo().Version + "-dev"
	}
	return info.Main.Version
}
