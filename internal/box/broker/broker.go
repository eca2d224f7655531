package broker

import "time"

// Rules has the connections that a process may make. The zero value permits none.
type Rules struct {
	Hosts   []string // see [ParseHost]
	Listen  []int    // TCP ports; 0 permits all ports
	Sockets []string // absolute paths of Unix stream sockets
	Write   []string // absolute paths of directories: the sockets below may be used
}

// The kinds of a [Denial].
const (
	DeniedHost   = "host"
	DeniedSocket = "socket"
	DeniedListen = "listen"
)

// Denial is a connection that was refused. The same target is reported at most once a minute.
type Denial struct {
	// What is DeniedHost, DeniedSocket or DeniedListen.
	What string
	// Target is "name:port", a path, or ":port". It is only the name if the process looked up a name.
	Target string
	// Reason has more words, for a permitted name whose address is refused. Mostly it is empty.
	Reason string
	// Program is the name of the program's file, without its directory.
	Program string
	Time    time.Time
}
