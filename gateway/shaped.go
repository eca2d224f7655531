package gateway

import (
	"context"

	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
)

// shapedTools shows tools with schemas that are adapted to a profile (as with Parameters, see host.Options). It maps
// arguments for the adapted schemas back to the schemas of the tools.
type shapedTools struct{ *toolbox.Box }

func withProfile(p *schema.Profile, src toolbox.Source) toolbox.Source {
	return shapedTools{toolbox.NewBox(&toolbox.BoxOptions{
		Profile: p, Around: []func(toolbox.Do) toolbox.Do{restoreWireArguments},
	}, src)}
}

// Do implements [toolbox.Source].
func (s shapedTools) Do(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
	out := s.Run(ctx, c)
	return out.Result, out.Err
}

// restoreWireArguments puts the mapped arguments into the params that the client sent.
func restoreWireArguments(next toolbox.Do) toolbox.Do {
	return func(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
		if c.Wire.JSON != nil {
			params, err := wire.Rewrite(c.Wire.JSON, wire.Edit{Key: "arguments", Value: c.Input})
			if err != nil {
				return nil, err
			}
			c.Wire.JSON = params
		}
		return next(ctx, c)
	}
}
