// Package servers is the commands about configured servers: list them, write and edit
// their rows, approve those of a project, and exchange them with other MCP clients.
package servers
