// Package proc runs child processes and ends all their descendants.
//
// Start starts a [Process] with pipes as its standard streams, for a server on stdio. Close ends it. Run runs a command
// until it exits, for a shell. Environ selects the part of our environment that a child gets.
//
//	p, err := proc.Start(ctx, proc.Command{
//		Path: "npx",
//		Args: []string{"-y", "weather-server"},
//		Env:  proc.Environ(os.Environ(), []string{"API_KEY=…"}, false),
//	})
//	if err != nil {
//		return err
//	}
//	defer p.Close()
//
// # The end of a process
//
// A child leads its own process group. If we have a terminal, it also leads its own session: a Ctrl-C at the terminal
// does not reach it, and it cannot prompt there.
//
// Close closes stdin, waits, sends SIGTERM to the group, waits, and sends SIGKILL to the group. If the leader exits,
// its descendants end too. Descendants that still hold stdout or stderr have a moment, then all of them receive
// SIGTERM, get time and are killed. The leader is reaped last, because its number cannot be reused until then.
//
// On Linux this includes all processes of the group or session. For a child of Start it also includes every process
// with its mark in the variable INDUS_WATCH, such as daemons and processes that moved to another group. A command of
// Run ends by session: detached processes live until the end of its [Strays]. Without Strays they are not ended.
//
// If our own process dies suddenly (kill -9, a crash, os.Exit), the watcher ends the remaining children. The watcher is
// one /bin/sh for the whole program, in its own session. It reads the identity of each child from a pipe before the
// child starts, and acts when the pipe ends. It holds none of our streams and runs until we end. The first Start starts
// it. If it dies, a new watcher replaces it at once. If it is stopped, it is replaced within ten seconds. Without
// /bin/sh, children run without a watcher.
//
// KillAfter makes the watcher kill a child at a given time, even if our own process is stopped then.
//
// # Limits
//
// A descendant is out of reach if it leaves the group (with a terminal: the session) and drops the mark, as with env -i
// setsid, or if it runs as another user. Without the /proc of Linux there are three more limits:
//
//   - A descendant that leaves the group is out of reach.
//   - A descendant that holds neither stdout nor stderr is killed without a SIGTERM if its leader
//     exits by itself.
//   - A kill -9 between the start of a child and its registration leaves that child running with a
//     closed stdin.
//
// A program that is PID 1 of a container inherits the zombies of killed grandchildren, like every PID 1: [ReapOrphans]
// reaps them.
//
// On systems other than Linux, macOS and the BSDs there are no groups and no watcher. Only the child itself is killed,
// and its pipes may have no deadlines.
//
// # Concurrency
//
// Everything may be called from several goroutines at once. A Process has two goroutines, which end with the child:
// Done reports it. The watcher has one goroutine, which ends with the last child.
//
// # Testing
//
// Goroutine-leak checks need no exception. A check for remaining children finds the watcher, "sh -c … orphan-watcher",
// which is a child that stays.
package proc
