// Package indus is the root of the module and holds no code: the packages are
// schema, toolbox, interop and mcpconfig, and the command is cmd/indus.
package indus
