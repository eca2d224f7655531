// Package doctor is "indus mcp doctor". It checks each step from the configuration to the tools, and gives advice.
package doctor
