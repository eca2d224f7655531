package session

import (
	"context"
	"errors"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/schema"
)

// provider reaches the model.
func (t target) provider() model { return absent{t.name + "/" + t.id} }

type absent struct{ name string }

func (a absent) Name() string { return a.name }

func (a absent) Profile() *schema.Profile { return schema.Universal }

func (a absent) Generate(context.Context, agent.Request, func(agent.Piece)) (agent.Reply, error) {
	return agent.Reply{}, errors.ErrUnsupported
}
