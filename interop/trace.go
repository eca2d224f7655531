package interop

import "time"

// Trace is called at the steps by which an endpoint connects over stdio, to find out
// where one failed. (Of a server at a URL EndpointOptions.HTTPClient shows
// as much.) nil functions are not called; the others may be called from several
// goroutines at once and must not block.
type Trace struct {
	// Started is the server's process, once it runs: a second one where the first
	// failed after it was asked for its era. stderr is the end of what that process has
	// written there so far, at most 8 KiB, fit for a terminal; it may be called at any
	// time, also when the process is over.
	Started func(pid int, stderr func() string)
	// Answered is what came of server/discover or initialize, and how long it took. An
	// answer that nobody waits for any more is err too.
	Answered func(method string, took time.Duration, err error)
	// Noise is a line on stdout that is no JSON object, and so no message: its
	// beginning, fit for a terminal. [EndpointStatus.Noise] counts JSON objects that are
	// no messages too.
	Noise func(line string)
}
