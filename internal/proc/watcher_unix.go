//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package proc

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

// processWatcher is package-level state on purpose: it stands for our own process, which has one
// death, regardless of which code starts children.
var processWatcher watcher

//go:embed watcher.sh
var watcherScript string

// watcherPath contains the programs that the script needs (sed, sleep, tr), also on NixOS.
const watcherPath = "PATH=/usr/bin:/bin:/usr/sbin:/sbin:/run/current-system/sw/bin"

const (
	// sendWait bounds a write to the watcher, which reads at once unless it was stopped.
	sendWait = time.Second
	// probeInterval is the interval at which a watcher is asked for a sign of life while there is
	// something to watch. Its death is noticed at once. A stop is noticed within this time and
	// probeTimeout.
	probeInterval = 5 * time.Second
	probeTimeout  = 3 * time.Second
)

// A watcher is a shell that ends the registered children when we die. It is our child. While it has
// something to watch, a goroutine reads its answers, and replaces a watcher that died or does not
// answer.
type watcher struct {
	mu        sync.Mutex // held while sending, so that messages keep the order of changes of live
	live      map[string]bool
	shell     *os.Process // nil if none runs
	pipe      *os.File    // to its stdin; closed on exec, so that it ends when we end
	answers   *os.File    // from its stdout
	monitored bool        // a goroutine reads answers
}

// add registers a mark or a session that must end when we die. It is sent before add returns. If no
// watcher can be started, the next add or remove tries again.
func (w *watcher) add(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.live == nil {
		w.live = map[string]bool{}
	}
	w.live[id] = true
	if w.send("+"+id) != nil {
		w.restart()
	}
	if w.shell != nil && !w.monitored {
		w.monitored = true
		go w.monitor(w.answers)
	}
}

// arm makes the watcher kill a process after d, unless it is called again before. Zero disarms it.
func (w *watcher) arm(session, mark string, d time.Duration) {
	line := fmt.Sprintf("=%g %s %s", d.Round(timerUnit).Seconds(), session, mark)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.send(line) != nil {
		w.restart()
		_ = w.send(line)
	}
}

// remove is called before the leader of a session is reaped, so that no session is listed under a
// number that can be reused.
func (w *watcher) remove(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.live, id)
	if w.send("-"+id) != nil {
		w.restart()
	}
	if len(w.live) == 0 && w.answers != nil {
		_ = w.answers.SetReadDeadline(time.Unix(1, 0)) // wakes monitor, which has nothing left to do
	}
}

// monitor replaces a watcher that has died or does not answer. It ends when there is nothing to
// watch or another watcher runs.
func (w *watcher) monitor(answers *os.File) {
	buf := make([]byte, 64)
	for probed := false; w.awaitAnswer(answers, probed); {
		_, err := answers.Read(buf)
		timedOut := errors.Is(err, os.ErrDeadlineExceeded)
		if err == nil || timedOut && !probed {
			probed = timedOut
			continue
		}
		w.mu.Lock()
		if w.answers == answers && len(w.live) > 0 {
			w.restart()
		}
		w.mu.Unlock()
	}
}

// awaitAnswer sets the deadline of the next answer, and asks for a sign of life if probe is set. It returns
// false if no answer is needed any more.
func (w *watcher) awaitAnswer(answers *os.File, probe bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.answers != answers {
		return false
	}
	if len(w.live) == 0 {
		w.monitored = false
		return false
	}
	wait := probeInterval
	if probe {
		wait = probeTimeout
		_ = w.send("?") // the reader notices a failure
	}
	_ = answers.SetReadDeadline(time.Now().Add(wait))
	return true
}

// send writes a line. It is shorter than PIPE_BUF, so it arrives whole or not at all.
func (w *watcher) send(line string) error {
	if w.pipe == nil {
		return os.ErrClosed
	}
	_ = w.pipe.SetWriteDeadline(time.Now().Add(sendWait))
	_, err := w.pipe.WriteString(line + "\n")
	return err
}

// restart replaces a watcher, unless there is nothing to watch.
func (w *watcher) restart() {
	w.stop()
	if len(w.live) == 0 || w.start() != nil {
		return
	}
	for id := range w.live {
		if w.send("+"+id) != nil {
			w.stop()
			return
		}
	}
	w.monitored = true
	go w.monitor(w.answers)
}

// stop kills a watcher before its pipe ends, or it would act.
func (w *watcher) stop() {
	if w.shell == nil {
		return
	}
	_ = w.shell.Kill()
	_, _ = reapChild(w.shell)
	closeAll([]*os.File{w.pipe, w.answers})
	w.shell, w.pipe, w.answers, w.monitored = nil, nil, nil, false
}

func (w *watcher) start() error {
	var s streams
	defer s.closeChildEnds()
	in, answers := s.writer(&s.in), s.reader(&s.out)
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err == nil {
		defer null.Close()
		err = s.fault
	}
	if err == nil {
		// It does not carry our name: "pkill -9 -f indus" would end it with us.
		w.shell, err = startChild(nil, "/bin/sh", []string{"sh", "-c", watcherScript, "orphan-watcher", startOf(os.Getpid())},
			&os.ProcAttr{
				Dir:   "/",
				Env:   []string{watcherPath},
				Files: []*os.File{s.in, s.out, null},
				Sys:   &syscall.SysProcAttr{Setsid: true},
			})
	}
	if err != nil {
		s.closeParentEnds()
		w.shell = nil
		return err
	}
	w.pipe, w.answers = in, answers
	return nil
}
