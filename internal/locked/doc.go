// Package locked keeps the versions to which servers are locked: the package that a launcher such as npx would run, its
// dependencies with their hashes, and the installed files.
//
// [Parse] reads the command line of a launcher. An [Entry] names one version of the package and of each dependency. The
// entries of a configuration stand in a [File] beside it, so that a team can share them. A [Store] has the files of
// each entry, with a list of their hashes, which [Check] compares before a server starts. Package install runs the
// package managers; this one starts nothing and sends nothing.
//
// Everything may be called from several goroutines and processes at once.
package locked
