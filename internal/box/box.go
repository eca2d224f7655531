package box

import "os"

// Box is what a process and its descendants may reach. Its zero value reaches the program itself, its interpreter and
// libraries. All paths are absolute.
type Box struct {
	// Read has files and directories that can be read and executed. Write has those that can be changed too.
	Read, Write []string
	// Broker opens the broker of a process. If it is nil, every connection is refused. The broker gets the directories
	// that the process can write.
	Broker func(writable []string) (Broker, error)
	// Listen are the TCP ports that may be opened. 0 is any free port. Opening a port needs a Broker.
	Listen []int
	// Limits bounds the use of the machine.
	Limits Limits
	// Home is the directory in which the process has its own HOME and TMPDIR. If it is "", the HOME of the environment
	// stays, of which only Read and Write can be used.
	Home string
	// NoProc hides /proc.
	NoProc bool
	// User is the name or number of the user that the process runs as. It is only possible and needed if we run as root.
	User string
	// Optional starts the process even if this system cannot enforce the whole Box.
	Optional bool

	emulated *kernel // in place of the running kernel, for tests
}

// Broker decides on the connections of one process and its descendants.
type Broker interface {
	// Environ returns environment variables that the process needs.
	Environ() []string
	// Serve answers the seccomp notifications of a listener until no process uses it any more.
	Serve(listener *os.File)
	Close() error
}

// Limits bounds what a process and its descendants may use. Zero is no bound.
type Limits struct {
	Files     int   // open files of each process
	Memory    int64 // bytes of all processes together
	Processes int   // processes and threads together
}
