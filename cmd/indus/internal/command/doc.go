// Package command has the parts that all commands of indus share: the root with its help, the exit codes with their
// errors, the flags for the configuration and for the ledger, and the servers that a command connects for itself.
// [Main] takes the commands as an argument. Each command is a file in a sibling package, with its help text.
package command
