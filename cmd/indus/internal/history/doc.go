// Package history has the commands about the ledger. They show the changes of tools, accept changed tools, verify that
// the file is unaltered, and watch the live state of all that indus serves.
package history
