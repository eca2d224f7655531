package ledger

import (
	"strings"

	"github.com/indusagi/indus/interop"
)

// QualifiedName is the plain server__tool: the identity that keys are made of, never
// shortened. The name under which a tool is mounted, and which models see, is
// [interop.QualifiedName].
func QualifiedName(server, tool string) string { return server + interop.Qualifier + tool }

// ServerOf is what stands before the first "__" of a qualified name; "" where there
// is none, or nothing before it. It is for names of which nothing else is known: an
// [Entry] says whose it is.
func ServerOf(qualified string) string {
	if server, _, ok := strings.Cut(qualified, interop.Qualifier); ok {
		return server
	}
	return ""
}

// ToolOf is the bare name: what stands after the server's, or all where [ServerOf]
// is "".
func ToolOf(qualified string) string {
	if server, tool, ok := strings.Cut(qualified, interop.Qualifier); ok && server != "" {
		return tool
	}
	return qualified
}
