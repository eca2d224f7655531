//go:build linux || darwin

package proc

// WatcherScript is the script that the watcher's shell runs.
var WatcherScript = watcherScript

// WatcherPid returns the number of the watcher's shell, or 0 if none runs.
func WatcherPid() int {
	processWatcher.mu.Lock()
	defer processWatcher.mu.Unlock()
	if processWatcher.shell == nil {
		return 0
	}
	return processWatcher.shell.Pid
}

var StartOf = startOf

// Session and Mark return the identities of a process that the watcher knows.
func Session(p *Process) string { return p.session }
func Mark(p *Process) string    { return p.mark }

// ForgetSession removes the session of a process from the watcher, and ForgetMark removes its mark.
func ForgetSession(p *Process) { processWatcher.remove(p.session) }
func ForgetMark(p *Process)    { processWatcher.remove(p.mark) }

// Watched reports whether the watcher will kill the group of p if our own process dies without closing it.
func Watched(p *Process) bool {
	w := &processWatcher
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.live[p.session] && w.send("") == nil
}
