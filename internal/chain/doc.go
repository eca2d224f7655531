// Package chain checks logs of lines in which each line has the number of its entry and the hash of the line before it.
//
// A log reads its own lines, and calls the methods of [Scan] with the [Link] of each: Scan finds lines that are
// altered, missing, out of order, unreadable or torn. [Check] compares the whole log with heads that were kept
// elsewhere.
//
// # Concurrency
//
// A value is used by one goroutine at a time.
package chain
