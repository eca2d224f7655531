// Package approvals is "indus approvals": the calls that wait for the approval of a person.
package approvals
