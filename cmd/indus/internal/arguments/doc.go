// Package arguments converts typed arguments into the arguments of a tool, by the schema of the tool. They have these
// forms: key=value, key:=json, an object, @file and -.
package arguments
