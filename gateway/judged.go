package gateway

import (
	"context"
	"errors"

	"github.com/indusagi/indus/gateway/internal/definition"
	"github.com/indusagi/indus/interop/config"
)

// A decision is for one definition of a tool. Between the decision and the call, the server may list another one: it
// was idle, not started yet, restarted or replaced. So the definition goes along with the call, and is compared when
// the connection of the call is there. If it differs, the call is decided again.

// judgedKey is the context key of the item that a call was admitted for.
type judgedKey struct{}

// judgedContext carries the item of which it is a part, so that a call allocates no context.
type judgedContext struct {
	context.Context
	it *Access
}

// Value implements [context.Context].
func (c *judgedContext) Value(key any) any {
	if _, ok := key.(judgedKey); ok {
		return c.it
	}
	return c.Context.Value(key)
}

// judgedIn returns the tool for which the call of ctx was admitted, or nil if no policy decided.
func judgedIn(ctx context.Context) *Access {
	it, _ := ctx.Value(judgedKey{}).(*Access)
	return it
}

// errRedefined is returned for a call that was admitted for another definition of its tool. Nothing was sent.
var errRedefined = errors.New("the tool has another definition now than the call was admitted for")

// maxRedefined bounds how often one call is decided again.
const maxRedefined = 3

// checkJudged is MountOptions.Admit.
func (g *Gateway) checkJudged(ctx context.Context, server config.Server, _ string) (held string, err error) {
	it := judgedIn(ctx)
	if it == nil || it.Tool.Server != server.ID {
		return "", nil
	}
	if it.Origin != "" && it.Origin != definition.Origin(server) {
		return "", errRedefined
	}
	now := g.attached.Snapshot("")
	if now == it.source || definition.Listed(now, it.Tool) {
		return "", nil
	}
	return "", errRedefined
}
