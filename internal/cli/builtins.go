package cli

import (
	"os"

	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/toolbox"
	"github.com/indusagi/indus/toolbox/standard"
)

// builtins are the tools that indus serve has of its own, where they are wanted or
// nothing is configured.
type builtins struct {
	registry *toolbox.Registry
	dir      string
	always   bool
	shown    bool
	s        streams
}

func newBuiltins(always bool, s streams) (*builtins, error) {
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

// show puts them on the shelf, or takes them off, as a configuration asks for.
func (b *builtins) show(c *mcpconfig.Config) {
	wanted := b.always || len(c.Rows) == 0 && len(c.Notes) == 0
	tools := standard.ReadOnly()
	switch {
	case wanted && !b.shown:
		b.registry.Add(tools...)
		b.s.tell("the built-in tools read files below %s", clean(b.dir))
	case !wanted && b.shown:
		var names []string
		for _, t := range tools {
			names = append(names, t.Name)
		}
		b.registry.Remove(names...)
		b.s.tell("the built-in tools are withdrawn: servers are configured now")
	}
	b.shown = wanted
}
