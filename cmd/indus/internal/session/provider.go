package session

import (
	"context"
	"errors"

	"github.com/indusagi/indus/agent"
)

// provider reaches the model.
func (t target) provider() agent.Provider { return absent{t.name + "/" + t.id} }

type absent struct{ name string }

func (a absent) Name() string { return a.name }

func (a absent) Generate(context.Context, agent.Request, func(agent.Piece)) (agent.Reply, error) {
	return agent.Reply{}, errors.ErrUnsupported
}
