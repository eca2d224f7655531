// Package show is the terminal of a command. It holds the streams that a command reads and writes, and formats text,
// tables, JSON and live lines. Data goes to stdout, messages for the person go to stderr. Text from a server is printed
// through [Clean], so that it cannot control the terminal.
package show
