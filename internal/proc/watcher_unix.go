//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package proc

import (
	_ "embed"
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
)

// processWatcher is package-level state on purpose: it stands for our own
// process, of whose death there is one, whoever starts children in it.
var processWatcher watcher

//go:embed watcher.sh
var watcherScript string

// watcherPath has what the script needs (sed, sleep, tr), also on NixOS.
const watcherPath = "PATH=/usr/bin:/bin:/usr/sbin:/sbin:/run/current-system/sw/bin"

const (
	// sendWait bounds a write to the watcher, which reads at once unless somebody
	// has stopped it.
	sendWait = time.Second
	// askEvery is how often a watcher is asked whether it lives, while there is
	// something to watch. Its death is noticed at once; that it was stopped, within
	// this time and answerWait.
	askEvery   = 5 * time.Second
	answerWait = 3 * time.Second
)

// A watcher is a shell that ends the children it knows of when we die. It
// is our child. While it has something to watch a goroutine reads its answers: one
// that died or does not answer is replaced.
type watcher struct {
	mu       sync.Mutex // held while sending, for the order must be that of the set
	live     map[string]bool
	shell    *os.Process // nil: none runs
	pipe     *os.File    // to its stdin; closed on exec, so that it ends with us
	answers  *os.File    // from its stdout
	attended bool        // somebody reads answers
}

// add has a mark or a session ended when we die. It is sent when add returns, unless
// no watcher can be started: then the next add or remove tries again.
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
	if w.shell != nil && !w.attended {
		w.attended = true
		go w.attend(w.answers)
	}
}

// remove is called before the leader of a session is reaped: none is listed when its
// number can be another's.
func (w *watcher) remove(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.live, id)
	if w.send("-"+id) != nil {
		w.restart()
	}
	if len(w.live) == 0 && w.answers != nil {
		_ = w.answers.SetReadDeadline(time.Unix(1, 0)) // attend has nothing to do any more
	}
}

func (w *watcher) watches(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.live[id] && w.send("") == nil
}

// attend replaces a watcher that has died or that does not answer, until there is
// nothing to watch or another one runs.
func (w *watcher) attend(answers *os.File) {
	buf := make([]byte, 64)
	for asked := false; w.await(answers, asked); {
		_, err := answers.Read(buf)
		late := errors.Is(err, os.ErrDeadlineExceeded)
		if err == nil || late && !asked {
			asked = late
			continue
		}
		w.mu.Lock()
		if w.answers == answers && len(w.live) > 0 {
			w.restart()
		}
		w.mu.Unlock()
	}
}

// await sets the time until which an answer is waited for, and asks where that is
// due; false where nobody has to wait any more.
func (w *watcher) await(answers *os.File, ask bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.answers != answers {
		return false
	}
	if len(w.live) == 0 {
		w.attended = false
		return false
	}
	wait := askEvery
	if ask {
		wait = answerWait
		_ = w.send("?") // that it fails is seen by the one who reads
	}
	_ = answers.SetReadDeadline(time.Now().Add(wait))
	return true
}

// send writes a line. It is shorter than PIPE_BUF, so that it arrives whole or
// not at all.
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
	w.attended = true
	go w.attend(w.answers)
}

// stop ends a watcher for good before its pipe ends, or it would act.
func (w *watcher) stop() {
	if w.shell == nil {
		return
	}
	_ = w.shell.Kill()
	_, _ = reapChild(w.shell)
	closeAll([]*os.File{w.pipe, w.answers})
	w.shell, w.pipe, w.answers, w.attended = nil, nil, nil, false
}

func (w *watcher) start() error {
	var s streams
	defer s.closeTheirs()
	in, answers := s.writer(&s.in), s.reader(&s.out)
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err == nil {
		defer null.Close()
		err = s.fault
	}
	if err == nil {
		// It is not named after us: "pkill -9 -f indus" would end it with us.
		w.shell, err = startChild("/bin/sh", []string{"sh", "-c", watcherScript, "orphan-watcher", startOf(os.Getpid())}, &os.ProcAttr{
			Dir:   "/",
			Env:   []string{watcherPath},
			Files: []*os.File{s.in, s.out, null},
			Sys:   &syscall.SysProcAttr{Setsid: true},
		})
	}
	if err != nil {
		s.closeOurs()
		w.shell = nil
		return err
	}
	w.pipe, w.answers = in, answers
	return nil
}
