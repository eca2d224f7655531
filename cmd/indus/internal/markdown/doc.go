// Package markdown shows what a model writes on a terminal: [Splitter] cuts the blocks that are complete off a text that is
// still arriving, and [Render] makes lines of them.
//
// A model's text is a stranger's. What drives a terminal and what no reader sees are taken out behind the parser, so that
// character references cannot bring them back; where a link leads is written out; HTML is text.
package markdown
