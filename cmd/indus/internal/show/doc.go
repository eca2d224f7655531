// Package show is the terminal: where a command reads and writes, and how text, tables,
// JSON and live lines look there. stdout is data, stderr is for the person. Whatever
// comes from a server is printed through [Clean], so that it cannot drive the terminal.
package show
