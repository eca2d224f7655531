package command

// ServerLines exports serverLines.
var ServerLines = serverLines

// NewestVersion exports newestVersion.
var NewestVersion = newestVersion
