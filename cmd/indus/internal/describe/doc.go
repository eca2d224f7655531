// Package describe has the words of commands and of the page for approvals, changed tools, policies and records. So
// both show the same, and a difference between two versions of a tool is computed in one place.
//
// Texts of servers and callers are in it as they are, unless a function returns them escaped. The command or the page
// that shows them makes them harmless.
package describe
