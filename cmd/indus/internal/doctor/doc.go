// Package doctor is "indus mcp doctor". It checks each step from the configuration to the tools of a server, and
// returns a verdict with advice.
package doctor
