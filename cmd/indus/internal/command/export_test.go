package command

// ServerLines exports serverLines.
var ServerLines = serverLines
