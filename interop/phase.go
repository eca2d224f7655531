package interop

// Phase is the current step in the life of an [Endpoint]:
//
//	idle → connecting → ready → closing → closed
//
// It is faulted, from connecting or ready, if the connection fails or is lost.
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

// Terminal reports whether the endpoint has ended: Closed or Faulted.
func (p Phase) Terminal() bool { return p == Closed || p == Faulted }
