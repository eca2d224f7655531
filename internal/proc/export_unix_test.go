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
