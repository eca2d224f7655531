// Package servers has the commands about configured servers. They list servers, write and edit their rows, approve the
// servers of a project, and exchange servers with other MCP clients.
package servers
