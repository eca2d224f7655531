// Package chat is the terminal of a conversation. It reads input, shows the events of a turn as they happen, and asks
// for permission. It does not depend on servers.
//
// [Open] sets the terminal to raw mode, and [Terminal.Close] restores it. Printed lines stay and scroll away. Live
// lines below them are redrawn while a turn runs: the block of text that is arriving, and the running calls.
//
// All text of a model, a tool or a server is untrusted. Control characters are removed from lines and arguments before
// they are printed. A question shows its text in full, with invisible characters as escapes.
//
// # Concurrency
//
// One goroutine reads the keys and shows the questions. It calls ReadLine and Turn. All other methods are safe for
// concurrent use.
package chat
