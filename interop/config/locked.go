package config

// Locked is the version of a package to which a [Stdio] server is locked. Its Command runs a file of Dir.
type Locked struct {
	Package, Version string
	// Dir has the files of the package. They are checked before each start, by the hashes that were taken when they were
	// installed.
	Dir string
	// Problem is why the server cannot start, if there is no version for its row. It is "" otherwise.
	Problem string
}
