package config

// Sandbox is what a [Stdio] server and its descendants may reach. Without further fields it is the strict sandbox: the
// program, its interpreter and libraries can be read, a home of its own can be written, and no host can be reached.
// Other fields only add to it. Paths are absolute.
type Sandbox struct {
	// Base is [Strict] or [Package]. "" is Strict.
	Base Base
	// Read has files and directories that can be read and executed. Write has those that can be changed too.
	Read, Write []string
	// Hosts are the hosts that can be connected to over TCP, as "name:port", "*.name:port", "address:port",
	// "localhost:port" (all loopback addresses) or "*:port" (all public addresses).
	Hosts []string
	// Listen are the TCP ports that may be opened. 0 is any free port.
	Listen []int
	// Sockets are Unix stream sockets that can be connected to, by path.
	Sockets []string
	// Limits bounds the use of the machine. The zero value has no bounds beside those of the process itself.
	Limits Limits
	// RealHome keeps the HOME of the user, of which only what Read and Write name can be used. If it is false, the
	// server has a home of its own below Home.
	RealHome bool
	// Home is the directory of the server's own HOME and TMPDIR. It is created with mode 0700. It must not be empty
	// unless RealHome is true.
	Home string
	// User is the name or number of the user that the server runs as. It is possible, and needed, only if this program
	// runs as root: a sandbox of root is none.
	User string
	// NoProc hides /proc. Some runtimes do not start without it.
	NoProc bool
	// Optional starts the server even if this system cannot enforce the whole sandbox. If it is false, such a server does
	// not start.
	Optional bool
}

// Base is what a sandbox allows before its row adds anything.
type Base string

// The bases.
const (
	Strict  Base = "strict"  // no host
	Package Base = "package" // strict, and the registries of package launchers
)

// Limits bounds what a server in a sandbox may use. Zero is no bound.
type Limits struct {
	Files     int   // open files of each process
	Memory    int64 // bytes of all its processes together
	Processes int   // processes and threads together
}
