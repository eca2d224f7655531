// Package chat is the terminal of a conversation: what a person types, the events of a turn as they happen, and the questions
// for permission. It has no idea of servers.
//
// [Open] puts the terminal into raw mode, and [Terminal.Close] restores it. What is printed stays and scrolls away; below it are
// lines that are drawn anew while something runs: the block of text that arrives, and the calls that run.
//
// Everything that a model, a tool or a server says is a stranger's text. Lines and arguments of calls are made harmless for a
// terminal before they are printed; in a question nothing of them is left out, and what is not visible is written as an escape.
//
// # Concurrency
//
// ReadLine and Turn are for one goroutine, which reads the keys: it also shows the questions. All other methods are safe for
// concurrent use.
package chat
