// Package lineedit reads text from a terminal. [Input] decodes bytes to keys, and [Editor] edits a text of one or more
// lines. The editor has completion, and a history that Ctrl-R searches.
//
// The terminal must be in raw mode the whole time (golang.org/x/term.MakeRaw), so that Ctrl-C arrives as a key. Typed
// or pasted text never controls the terminal, and a pasted line break does not send the text.
//
// No library does all of this. Package golang.org/x/term counts letters instead of columns and edits one line. Package
// peterh/liner does not support pasting. Package reeflective/readline (28,800 lines) reads only the standard input. It
// also reads between two texts, when a turn needs the keys. The textarea of charmbracelet/bubbles takes 2 MB, and 4 ms
// at each start to look for a clipboard.
//
// # Concurrency
//
// Only one goroutine at a time may read from an Input, directly or through an Editor.
package lineedit
