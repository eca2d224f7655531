package command

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/host"
	"github.com/spf13/cobra"
)

func newVersion(s show.Streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Which indus this is",
		Long: "Which indus this is.\n\nUsage:\n  indus version [FLAG]...\n\nFlags:\n" +
			"  --json             print a JSON object: version, go, os, arch\n\nA session:\n  $ indus version\n  indus " + moduleVersion(),
		Args: AtMost(0, ""),
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return s.WriteIndented(struct {
					Version string `json:"version"`
					Go      string `json:"go"`
					OS      string `json:"os"`
					Arch    string `json:"arch"`
				}{moduleVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH})
			}
			_, err := fmt.Fprintf(s.Out, "indus %s\n", moduleVersion())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

// moduleVersion is the module's, where the build knows it.
func moduleVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return host.DefaultInfo().Version + "-dev"
	}
	return info.Main.Version
}
