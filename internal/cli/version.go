package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/indusagi/indus/host"
	"github.com/spf13/cobra"
)

func newVersion(s streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Which indus this is",
		Long: "Which indus this is.\n\nUsage:\n  indus version [FLAG]...\n\nFlags:\n" +
			"  --json             print a JSON object: version, go, os, arch\n\nA session:\n  $ indus version\n  indus " + version(),
		Args: atMost(0, ""),
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return s.writeIndented(object{{"version", version()}, {"go", runtime.Version()}, {"os", runtime.GOOS}, {"arch", runtime.GOARCH}})
			}
			_, err := fmt.Fprintf(s.out, "indus %s\n", version())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

// version is the module's, where the build knows it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return host.DefaultInfo().Version + "-dev"
	}
	return info.Main.Version
}
