package attack

import "github.com/indusagi/indus/internal/box"

// Attack is an attempt to reach something outside of a sandbox.
type Attack struct {
	Name   string // unique, such as "read-symlink"
	What   string // such as "read a file outside through a symbolic link"
	Expect Outcome
	// try returns nil if it has reached something.
	try func(*scene) error
}

// Outcome is the end of an attack.
type Outcome string

// The outcomes.
const (
	Denied  Outcome = "denied"
	Reached Outcome = "reached"
)

// Result is the outcome of an attack.
type Result struct {
	Attack
	Outcome Outcome
	Detail  string // the error of a denied attack
}

// Passed reports whether the outcome is the expected one.
func (r Result) Passed() bool { return r.Outcome == r.Expect }

// Table returns all attacks with the outcomes that are expected on a system.
func Table(s box.Support) []Attack {
	all := attacks(s)
	for i := range all {
		if all[i].Expect == "" {
			all[i].Expect = Denied
		}
	}
	return all
}
