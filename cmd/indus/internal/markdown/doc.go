// Package markdown shows a model's text on a terminal. [Splitter] splits an arriving text into complete blocks, and
// [Render] formats a block as lines.
//
// A model's text is untrusted. Control characters and invisible characters are removed after parsing, so that character
// references cannot restore them. Targets of links are shown. HTML is shown as text.
package markdown
