//go:build !race

package schema_test

// someSchemas is the number of generated schemas.
const someSchemas = 600

// profileStride is 1: each schema is checked with every profile.
const profileStride = 1
