// Package fields is the table of all fields that a file of indus may have: name, kind of value, whether an approval
// covers the field, and its sentence.
//
// The reader takes the names from it, and the fingerprint of an approval its rules. The files schema.json and
// docs/configuration.md are written from it (go test -update). So a field is added in one place.
package fields
