package toolbox

import "crypto/sha256"

// ReadMark is what a file held when it was read: the SHA-256 of all of it. Times and sizes would not do: a file may be
// written twice within one tick of its clock, and be touched without a change.
type ReadMark [sha256.Size]byte

// Fresh reports whether content is what was read.
func (m ReadMark) Fresh(content []byte) bool { return m == sha256.Sum256(content) }

// MarkRead notes that the caller was shown the file name, as [Context.Path] gives it, or a part of it, when it held what
// mark says, which is [sha256.Sum256] of its content. The file's other names, through symlinks, are marked with it.
func (c *Context) MarkRead(name string, mark ReadMark) {
	name = c.realName(name)
	w := c.root()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reads == nil {
		w.reads = map[string]ReadMark{}
	}
	w.reads[name] = mark
}

// LastRead is what the file name held when it was last marked as read, and whether it ever was.
func (c *Context) LastRead(name string) (ReadMark, bool) {
	name = c.realName(name)
	w := c.root()
	w.mu.Lock()
	defer w.mu.Unlock()
	mark, ok := w.reads[name]
	return mark, ok
}

// Change waits until no other tool of the same Context changes files, and keeps others waiting until done is called: who
// reads a file, works on what it holds and writes it would lose what another one writes in between. It is one
// lock for all files, because one file may have many names.
func (c *Context) Change() (done func()) {
	w := c.root()
	w.changes.Lock()
	return w.changes.Unlock
}

func (c *Context) realName(name string) string {
	if found, err := c.Resolve(name); err == nil {
		return found
	}
	return name
}

// root is the context that calls share what was read by.
func (c *Context) root() *Context {
	if c.parent != nil {
		return c.parent
	}
	return c
}
