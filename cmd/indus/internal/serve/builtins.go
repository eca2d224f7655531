package serve

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/indusagi/indus/agent/standard"
	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/toolbox"
)

// builtins are the tools of indus serve itself. They are published on request, or if there was no configuration at the
// start.
type builtins struct {
	registry  *toolbox.Registry
	dir       string
	always    bool
	published bool
	s         show.Streams
}

func newBuiltins(always bool, s show.Streams) (*builtins, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	tc, err := toolbox.NewContext(dir)
	if err != nil {
		return nil, err
	}
	return &builtins{registry: toolbox.NewRegistry(tc), dir: dir, always: always, s: s}, nil
}

// publish publishes the tools on request, or if there is no configuration and the working directory is a project. In
// the home directory and above it, the tools could read private files, so they are published there only with
// --builtins.
func (b *builtins) publish(c *mcpconfig.Config) {
	switch homeInside := holdsHome(b.dir); {
	case !b.always && len(command.FilesFound(c)) > 0:
		return
	case !b.always && homeInside:
		b.s.Reportf(
			"the built-in tools are not published here, where they could read everything below %s: start it in the directory "+
				"that they may read, or with --builtins", b.dir)
		return
	}
	b.registry.Add(standard.ReadOnly()...)
	b.published = true
	b.s.Reportf("the built-in tools read files below %s", b.dir)
}

// withdraw withdraws the tools permanently once there is a configuration.
func (b *builtins) withdraw(c *mcpconfig.Config) {
	if !b.published || b.always || len(command.FilesFound(c)) == 0 {
		return
	}
	for _, t := range standard.ReadOnly() {
		b.registry.Remove(t.Name)
	}
	b.published = false
	b.s.Reportf("the built-in tools are withdrawn: there is a configuration now")
}

// holdsHome reports whether a directory is the root, or is or contains the user's home directory.
func holdsHome(dir string) bool {
	return dir == filepath.Dir(dir) ||
		slices.ContainsFunc(command.HomeDirectories(), func(home string) bool { return command.IsBelow(home, dir) })
}
