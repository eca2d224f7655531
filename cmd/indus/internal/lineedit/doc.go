// Package lineedit reads what a person types on a terminal: [Input] makes keys of its bytes, and [Editor] a text of them, of
// one line or several, with a history that Ctrl-R searches, and completion.
//
// The terminal is in raw mode all the while (golang.org/x/term.MakeRaw): whoever has an Input hears Ctrl-C as a key. What is
// typed or pasted never drives the terminal, and a pasted line break does not send.
//
// It is our own because no library does all of that. golang.org/x/term counts letters in the place of columns and edits one line.
// peterh/liner knows no pasting. reeflective/readline (28,800 lines) reads the standard input alone, also between two texts,
// where a turn needs the keys. The textarea of charmbracelet/bubbles takes 2 MB, and 4 ms of each start to look for a clipboard.
//
// # Concurrency
//
// One goroutine at a time may read from an Input, be it through an Editor or not.
package lineedit
