//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package proc

// watcher: there are no groups to watch.
type watcher struct{}

var processWatcher watcher

func (watcher) prepare()         {}
func (watcher) add(int)          {}
func (watcher) remove(int)       {}
func (watcher) watches(int) bool { return false }
