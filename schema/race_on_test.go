//go:build race

package schema_test

// someSchemas is the number of generated schemas. The race detector needs fewer, because it looks for races and not for
// shapes.
const someSchemas = 150

// profileStride is 10: each schema is checked with every tenth profile only. make test checks all profiles without the
// detector.
const profileStride = 10
