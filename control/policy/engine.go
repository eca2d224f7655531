package policy

import (
	"sync"
	"sync/atomic"
)

// Engine holds the current policies of a file or directory.
type Engine struct {
	path    string
	current atomic.Pointer[Set]

	mu sync.Mutex // is held during a reload
}

// Open reads the policies of a file or directory.
func Open(path string) (*Engine, error) {
	s, err := Load(path)
	if err != nil {
		return nil, err
	}
	e := &Engine{path: path}
	e.current.Store(s)
	return e, nil
}

// Current returns the current policies.
func (e *Engine) Current() *Set { return e.current.Load() }

// Path returns the file or directory.
func (e *Engine) Path() string { return e.path }

// Watched returns the paths whose states change when the policies change: the files, and the directory if there is one.
func (e *Engine) Watched() []string {
	files := e.Current().Files()
	if len(files) == 1 && files[0] == e.path {
		return files
	}
	return append(files, e.path)
}

// Reload reads the files again and reports whether the policies changed. If they cannot be used, it returns the error
// and keeps the previous policies.
func (e *Engine) Reload() (changed bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s, err := Load(e.path)
	if err != nil {
		return false, err
	}
	if s.Version() == e.Current().Version() {
		return false, nil
	}
	e.current.Store(s)
	return true, nil
}
