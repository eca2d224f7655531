// Package connect has the command that gives other MCP clients one entry for indus, and takes it back.
//
// [Ways] returns the ways to connect each client: a command line, a link, and an entry for its file. It writes nothing.
package connect
