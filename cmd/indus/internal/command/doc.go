// Package command is what all commands of indus share: the root with its help, the exit codes with their errors, the
// flags for the configuration and for the ledger, and the servers that a command connects for itself. [Main] is given
// the commands themselves, each of which is in a file of a sibling package with its help text.
package command
