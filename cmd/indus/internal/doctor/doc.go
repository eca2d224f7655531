// Package doctor is "indus mcp doctor". It checks each step from the configuration to a server's tools, and gives
// advice.
package doctor
