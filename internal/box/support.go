package box

// Support is the set of parts of a sandbox that this system can enforce.
type Support struct {
	// Files is set if reads, writes and executions can be limited to the named files.
	Files bool
	// Calls is set if dangerous system calls can be refused.
	Calls bool
	// Hosts is set if connections can be limited to the named hosts. If it is not set, every connection is refused.
	Hosts bool
	// Signals is set if signals cannot leave the sandbox. A process starts without it: Missing names the gap.
	Signals bool
	// Limits is set if memory and the number of processes can be limited. A process starts without it.
	Limits bool
	// Missing is one line about everything that cannot be enforced, such as "this kernel (5.10) has no Landlock". It is
	// "" if nothing is missing, apart from Limits.
	Missing string
}

// Enforced reports whether files, calls and hosts can all be limited. Otherwise a process does not start, unless its
// sandbox is optional.
func (s Support) Enforced() bool { return s.Files && s.Calls && s.Hosts }

// Unenforced is the error of a start that was refused, because this system cannot enforce the sandbox.
type Unenforced struct {
	Reason string // such as "this kernel (5.10) has no Landlock"
	Advice string // the remedy, or ""
}

// Error returns the reason and the remedy in one line.
func (e *Unenforced) Error() string {
	text := "not started: " + e.Reason
	if e.Advice != "" {
		text += ". " + e.Advice
	}
	return text
}

// adviceOptional is the remedy for a system that cannot enforce a sandbox.
const adviceOptional = `"required": false starts it unconfined`
