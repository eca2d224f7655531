package telemetry

// State is the state of the gateway at one moment.
type State struct {
	Parked    int // calls that wait for an answer of a modern client
	Approvals int // approvals that wait for a person; below 0: unknown, and not reported
	Sessions  int // legacy sessions over HTTP, and connections on stdio
	Streams   int // open streams to clients over HTTP
	Ledger    int // entries about tools that this run holds in memory
	Servers   []ServerState
}

// ServerState is the state of one server.
type ServerState struct {
	Name, Phase string
	Queue       int // calls that wait for a place
	Calls       int // calls in flight
	Tools       int // tools that clients see
	Restarts    int // new connections since the server was configured: after a loss, an idle time, or on request
}

// Observe sets the function that returns the state. It is called each time the metrics are read, by one goroutine at a
// time, and should not block.
func (t *Telemetry) Observe(state func() State) {
	if t != nil {
		t.state.Store(&state)
	}
}
