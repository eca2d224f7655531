package serve_test

import (
	"testing"

	"github.com/indusagi/indus/cmd/indus/internal/serve"
)

// TestCanonicalURL checks that every spelling of an address has one form. If want is "", the address is refused.
func TestCanonicalURL(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://mcp.example.com":       "https://mcp.example.com",
		"HTTPS://MCP.Example.COM:443/":  "https://mcp.example.com",
		"http://mcp.example.com:80":     "http://mcp.example.com",
		"http://mcp.example.com:443/":   "http://mcp.example.com:443",
		"https://mcp.example.com:":      "https://mcp.example.com",
		"https://mcp.example.com:8443/": "https://mcp.example.com:8443",
		"https://[::1]:443":             "https://[::1]",
		"https://mcp.example.com/mcp":   "",
		"https://me@mcp.example.com":    "",
		"https://mcp.example.com/?x":    "",
		"https://mcp.example.com#":      "",
		"ftp://mcp.example.com":         "",
		"mcp.example.com":               "",
		"https://":                      "",
	} {
		if got, err := serve.CanonicalURL("--public-url", address); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", address, got, err)
		}
	}
}
