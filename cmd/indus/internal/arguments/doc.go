// Package arguments turns what a person types for a tool into the tool's arguments, by
// its schema: key=value, key:=json, an object, @file and -.
package arguments
