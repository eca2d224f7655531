package serve

import (
	"slices"
	"strings"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/toolbox"
	"github.com/indusagi/indus/toolbox/catalog"
	"github.com/spf13/cobra"
)

// What --expose shows to clients.
const (
	exposeAll     = "all"
	exposeGateway = "gateway"
)

var exposures = []string{exposeAll, exposeGateway}

func checkExpose(what string) error {
	if slices.Contains(exposures, what) {
		return nil
	}
	return command.Usagef("--expose %q: it is one of %s%s", what, strings.Join(exposures, ", "), command.DidYouMean(what, exposures))
}

func completeExpose(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{
		exposeAll + "\tevery tool",
		exposeGateway + "\tsearch, schema, call and batch in the place of all",
	}, cobra.ShellCompDirectiveNoFileComp
}

// exposed is what clients are shown of the tools. With the four, whoever calls has not seen a
// tool's schema where its client could check the arguments, so they are checked here.
func (f *serveFlags) exposed(tools toolbox.Source) toolbox.Source {
	if f.expose == exposeGateway {
		return catalog.Over(tools, &catalog.Options{Unvalidated: f.noValidate})
	}
	return tools
}
