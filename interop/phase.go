package interop

// Phase is where an [Endpoint] is in its life:
//
//	idle → connecting → ready → closing → closed
//
// and faulted, from connecting or ready, when the connection fails or dies.
type Phase string

// The phases.
const (
	Idle       Phase = "idle"
	Connecting Phase = "connecting"
	Ready      Phase = "ready"
	Closing    Phase = "closing"
	Closed     Phase = "closed"
	Faulted    Phase = "faulted"
)

// Usable reports whether tools can be listed and called: only when Ready.
func (p Phase) Usable() bool { return p == Ready }

// Terminal reports whether the endpoint is done for good: Closed or Faulted.
func (p Phase) Terminal() bool { return p == Closed || p == Faulted }
