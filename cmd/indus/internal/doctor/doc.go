// Package doctor is "indus mcp doctor": each step from the configuration to the tools of
// a server, with a verdict and what to try.
package doctor
