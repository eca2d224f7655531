//go:build !race

package schema_test

// someSchemas is the number of generated schemas without INDUS_SOAK.
const someSchemas = 150

// profileStride is 1: each schema is checked with every profile.
const profileStride = 1
