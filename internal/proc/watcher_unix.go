//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package proc

import (
	_ "embed"
	"fmt"
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

// watcherPath has what the script needs (sleep), also on NixOS.
const watcherPath = "PATH=/usr/bin:/bin:/usr/sbin:/sbin:/run/current-system/sw/bin"

// tellWait bounds a write to the watcher, which reads at once unless somebody
// has stopped it.
const tellWait = time.Second

// A watcher is a shell that kills the groups it was told of when we die. It
// is our child; nobody waits for it, so that it costs no goroutine: that it
// has died is seen at the next thing it is told, and then another one starts.
type watcher struct {
	mu    sync.Mutex // held while telling, for the order must be that of the set
	live  map[int]bool
	shell *os.Process // nil: none runs
	pipe  *os.File    // to its stdin; closed on exec, so that it ends with us
}

// prepare sees to it that a watcher runs, so that add, which follows the
// birth of a child, is quick.
func (w *watcher) prepare() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tell("") != nil {
		w.restart()
	}
}

// add has a group killed when we die.
func (w *watcher) add(pgid int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.live == nil {
		w.live = map[int]bool{}
	}
	w.live[pgid] = true
	if w.tell(fmt.Sprintf("+%d", pgid)) != nil {
		w.restart()
	}
}

// remove is called before the leader is reaped: a group is never listed when
// its number can be another's.
func (w *watcher) remove(pgid int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.live, pgid)
	if w.tell(fmt.Sprintf("-%d", pgid)) == nil {
		return
	}
	w.stop()
	if len(w.live) > 0 {
		w.restart()
	}
}

func (w *watcher) watches(pgid int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.live[pgid] && w.tell("") == nil
}

// tell writes a line. It is shorter than PIPE_BUF, so that it arrives whole or
// not at all.
func (w *watcher) tell(line string) error {
	if w.pipe == nil {
		return os.ErrClosed
	}
	w.pipe.SetWriteDeadline(time.Now().Add(tellWait))
	_, err := w.pipe.WriteString(line + "\n")
	return err
}

// restart replaces a watcher that is dead or deaf. Where none can be started
// children run unwatched; the next one to start tries again.
func (w *watcher) restart() {
	w.stop()
	if w.start() != nil {
		return
	}
	for pgid := range w.live {
		if w.tell(fmt.Sprintf("+%d", pgid)) != nil {
			w.stop()
			return
		}
	}
}

// stop ends a watcher for good before its pipe ends, or it would act.
func (w *watcher) stop() {
	if w.shell == nil {
		return
	}
	_ = w.shell.Kill()
	_, _ = w.shell.Wait()
	w.pipe.Close()
	w.shell, w.pipe = nil, nil
}

func (w *watcher) start() error {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	theirs, ours, err := os.Pipe()
	if err != nil {
		return err
	}
	defer theirs.Close()
	shell, err := os.StartProcess("/bin/sh", []string{"sh", "-c", watcherScript, "indus-watcher"}, &os.ProcAttr{
		Dir:   "/",
		Env:   []string{watcherPath},
		Files: []*os.File{theirs, null, null},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		ours.Close()
		return err
	}
	w.shell, w.pipe = shell, ours
	return nil
}
