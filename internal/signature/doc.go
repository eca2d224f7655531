// Package signature writes JSON Schemas in a few words, the way people and models read types: string[], "a" | "b",
// {x: number, y?: number}. It is the one vocabulary for that: the command's listings, the catalog's searches, the notes that
// adapting leaves in descriptions and the validator's errors all have it from here.
//
// [Parse] reads the bytes of a schema, and [New] takes one that is read already. What a text of a stranger's schema may cost
// is bounded by the [Style].
package signature
