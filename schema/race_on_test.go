//go:build race

package schema_test

// someSchemas is how many schemas are generated: fewer under the race detector, which looks for races and not for shapes.
const someSchemas = 150

// profileStride: each schema meets every tenth profile only; make test tries them all without the detector.
const profileStride = 10
