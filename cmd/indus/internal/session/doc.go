// Package session is "indus -p" and "indus": an agent with the built-in tools and those of the configured servers, for one
// answer or for a conversation. [Add] makes the root command start it.
//
// A session comes up in the order of its parts: the built-in tools, of which --tools leaves some; then the servers, whose
// tools are grafted on; then the briefing, which names all that is there. What comes later is there on the next
// turn, and a note before the prompt says so.
package session
