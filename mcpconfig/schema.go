package mcpconfig

import (
	_ "embed"
	"slices"
)

//go:embed schema.json
var fileSchema []byte

// FileSchema is the JSON Schema (2020-12) of indus's own files, which editors complete
// by: {"$schema": "…", "servers": …}. The bytes are the caller's own.
func FileSchema() []byte { return slices.Clone(fileSchema) }
