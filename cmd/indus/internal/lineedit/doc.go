// Package lineedit reads what a person types on a terminal: [Input] makes keys of its bytes, and [Editor] a text of them, of
// one line or several, with a history that Ctrl-R searches, and completion.
//
// The terminal is in raw mode all the while (golang.org/x/term.MakeRaw): whoever has an Input hears Ctrl-C as a key. What is
// typed or pasted never drives the terminal, and a pasted line break does not send.
//
// It is our own because none of the libraries does all of that. golang.org/x/term counts letters in the place of columns and
// edits one line; peterh/liner knows no pasting, and reeflective/readline writes what is pasted to the terminal as it
// is; it and bubbletea's inline mode leave copies of what they drew behind when a window becomes narrower.
//
// # Concurrency
//
// One goroutine at a time may read from an Input, be it through an Editor or not.
package lineedit
