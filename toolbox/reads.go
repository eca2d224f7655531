package toolbox

import (
	"io/fs"
	"time"
)

// ReadMark is what a file was like when it was read.
type ReadMark struct {
	ModTime time.Time
	Size    int64
}

// Fresh reports whether the file that info tells of still is what was read, as far
// as its time and its size can tell.
func (m ReadMark) Fresh(info fs.FileInfo) bool {
	return m.Size == info.Size() && m.ModTime.Equal(info.ModTime())
}

// MarkRead notes that the caller was shown the file name, as [Context.Path] gives
// it, when it was as info says.
func (c *Context) MarkRead(name string, info fs.FileInfo) {
	w := c.root()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reads == nil {
		w.reads = map[string]ReadMark{}
	}
	w.reads[name] = ReadMark{ModTime: info.ModTime(), Size: info.Size()}
}

// LastRead is how the file name was when it was last marked as read, and whether it
// ever was.
func (c *Context) LastRead(name string) (ReadMark, bool) {
	w := c.root()
	w.mu.Lock()
	defer w.mu.Unlock()
	mark, ok := w.reads[name]
	return mark, ok
}

// root is the context that calls share what was read by.
func (c *Context) root() *Context {
	if c.parent != nil {
		return c.parent
	}
	return c
}
