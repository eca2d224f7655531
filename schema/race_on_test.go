//go:build race

package schema_test

// someSchemas is how many schemas are generated: fewer under the race detector, which looks for races and not for shapes.
const someSchemas = 150
