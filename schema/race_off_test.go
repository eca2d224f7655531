//go:build !race

package schema_test

// someSchemas is how many schemas are generated.
const someSchemas = 600

// profileStride: each schema meets every profile.
const profileStride = 1
