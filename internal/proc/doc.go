// Package proc runs child processes that leave nothing behind.
//
// Start gives a [Process] whose standard streams are pipes of ours, for a
// server that is spoken to over stdio; Close ends it. Run runs a command to
// its end, for a shell. Environ says what a child may know of our environment.
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
// # What ends, and when
//
// A child leads a process group of its own, and where we have a terminal a session too:
// a Ctrl-C there does not reach it, and it cannot ask its questions there. Close
// closes its stdin, waits, sends the group SIGTERM, waits, sends the group
// SIGKILL. A leader that has exited takes along what it leaves: whoever still
// holds stdout or stderr has a moment, then all are sent SIGTERM, given time and
// killed. The leader is reaped last, for until then nothing else can have got its
// number.
//
// On Linux that is all of the group or session and, for a child of Start, whatever
// carries its mark in the variable INDUS_WATCH: what moved to another group, and
// daemons too. A command of Run ends by session: what it detaches lives until the end of
// its [Strays], or on if it has none.
//
// When our own process dies without a word (kill -9, a crash, os.Exit), the
// watcher ends what is left: one /bin/sh for the whole program, in a session
// of its own, which reads from a pipe what lives, before it is born, and acts
// when the pipe ends. It holds none of our streams and runs until we end. The first
// Start starts it; another one takes its place at once if it dies, and within ten
// seconds if it is stopped. Without /bin/sh children run unwatched;
// [Process.Watched] reports it.
//
// # Limits
//
// A descendant that leaves the group (under a terminal: the session) and drops the mark
// (env -i setsid) is out of reach, and so is one that runs as another user. Without the /proc of Linux
// whatever leaves the group is, descendants that hold neither stdout nor stderr are
// killed without a SIGTERM when their leader exits by itself, and a kill -9 in the
// instant between the birth of a child and its registration leaves that child with
// its stdin closed. A program that is PID 1 of a container inherits the zombies of
// killed grandchildren, as every PID 1 does: [ReapOrphans] reaps them.
//
// On systems other than Linux, macOS and the BSDs there are no groups and no
// watcher: the child alone is killed, and its pipes may have no deadlines.
//
// # Concurrency
//
// Everything may be called by several goroutines at once. A Process has two
// goroutines, which end with the child: Done says when. The watcher has one, which
// ends with the last child.
//
// # Testing
//
// Goroutine-leak checks need no exception. A check for left-over children
// meets the watcher, "sh -c … orphan-watcher": it is a child of ours that stays.
package proc
