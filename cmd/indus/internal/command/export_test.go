package command

// ServerLines are the live lines for servers.
var ServerLines = serverLines
