// Package tools is the commands about the servers' tools: list them, call one, and lint
// them for model providers.
package tools
