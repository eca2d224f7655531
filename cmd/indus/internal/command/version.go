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
			return printVersion(s)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

// addVersionFlag lets the root command answer --version. cobra's own template would link text/template, which may call every
// exported method by its name, so that the linker leaves none of any package out: 40 MB.
func addVersionFlag(root *cobra.Command, s show.Streams) {
	asked := root.Flags().Bool("version", false, "which indus this is")
	run := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if *asked {
			return printVersion(s)
		}
		return run(cmd, args)
	}
}

func printVersion(s show.Streams) error {
	_, err := fmt.Fprintf(s.Out, "indus %s\n", moduleVersion())
	return err
}

// moduleVersion is the module's, where the build knows it.
func moduleVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return host.DefaultInfo().Version + "-dev"
	}
	return info.Main.Version
}
