package toolbox

import "crypto/sha256"

// MarkRead notes that the caller was shown the file name, as [Context.Path] gives it, or a part of it, and the SHA-256 of all
// that it held. Times and sizes would not do: a file may be written twice within one tick of its clock, and be touched without
// a change. The file's other names, through symlinks, are marked with it.
func (c *Context) MarkRead(name string, hash [sha256.Size]byte) {
	name = c.realName(name)
	w := c.root()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reads == nil {
		w.reads = map[string][sha256.Size]byte{}
	}
	w.reads[name] = hash
}

// WasRead reports whether the file name was ever marked as read, and whether content is what it held then.
func (c *Context) WasRead(name string, content []byte) (ever, same bool) {
	name = c.realName(name)
	w := c.root()
	w.mu.Lock()
	hash, ever := w.reads[name]
	w.mu.Unlock()
	return ever, ever && hash == sha256.Sum256(content)
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
