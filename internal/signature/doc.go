// Package signature writes JSON Schemas in the short notation that people and models use for types: string[], "a" |
// "b", {x: number, y?: number}. It is the only code for this notation. The listings of the command, the searches of the
// catalog, the notes in adapted descriptions and the errors of the validator use it.
//
// [Parse] reads the bytes of a schema, and [New] takes a schema that is already read. The [Style] bounds the cost of
// writing an untrusted schema.
package signature
