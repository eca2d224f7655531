//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package proc

// watcher: there are no groups to watch.
type watcher struct{}

var processWatcher watcher

func (watcher) add(string)          {}
func (watcher) remove(string)       {}
func (watcher) watches(string) bool { return false }
