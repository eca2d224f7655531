package control

import (
	"context"
	"time"

	"github.com/indusagi/indus/internal/telemetry"
)

// stateWait bounds the reading of the approvals for the metrics.
const stateWait = time.Second

// state returns the state of the gateway for the metrics.
func (c *Control) state() telemetry.State {
	load := c.gateway.Load()
	s := telemetry.State{
		Approvals: -1, Ledger: load.Ledger, Sessions: load.Sessions, Parked: load.Parked, Streams: load.Streams,
	}
	if c.Approvals != nil {
		ctx, cancel := context.WithTimeout(c.ctx, stateWait)
		defer cancel()
		if waiting, err := c.Approvals.List(ctx, nil); err == nil {
			s.Approvals = len(waiting)
		}
	}
	if c.Replicas != nil {
		s.Replicas, s.ReplicaProblems = c.Replicas()
	}
	for _, one := range load.Servers {
		s.Servers = append(s.Servers, telemetry.ServerState(one))
	}
	return s
}
