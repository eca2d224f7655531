// Package history is the commands about the ledger: what happened to which tools, which of them changed and are to be
// accepted, whether the file is as it was written, and the live state of all that indus serves.
package history
