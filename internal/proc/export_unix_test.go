//go:build linux || darwin

package proc

// WatcherScript is what the watcher's shell runs.
var WatcherScript = watcherScript

// WatcherPid is the number of the watcher's shell, 0 if none runs.
func WatcherPid() int {
	processWatcher.mu.Lock()
	defer processWatcher.mu.Unlock()
	if processWatcher.shell == nil {
		return 0
	}
	return processWatcher.shell.Pid
}

var StartOf = startOf

// Session and Mark are what the watcher knows of a process.
func Session(p *Process) string { return p.session }
func Mark(p *Process) string    { return p.mark }

// ForgetSession has the watcher know the mark of a process only, ForgetMark its session.
func ForgetSession(p *Process) { processWatcher.remove(p.session) }
func ForgetMark(p *Process)    { processWatcher.remove(p.mark) }
