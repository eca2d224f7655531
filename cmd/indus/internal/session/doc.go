// Package session implements "indus -p" and "indus": an agent with the built-in tools and the tools of configured
// servers, for one answer or for a conversation. [Add] adds it to the root command.
//
// The parts of a session start in this order: the built-in tools that --tools selects, the servers with their tools,
// and the briefing, which names them all. Servers that become ready later are available in the next turn, and a note
// before the prompt reports them.
package session
