package toolbox

import "crypto/sha256"

// MarkRead records that the caller was shown the file name, or a part of it, and the SHA-256 of its whole content. name
// is a result of [Context.Path]. Times and sizes are not enough: a file may be written twice within one tick of its
// clock, or be touched without a change. The record applies to the file's other names through symlinks too.
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

// WasRead reports whether the file name was ever marked as read, and whether its content then was the same as content.
func (c *Context) WasRead(name string, content []byte) (marked, same bool) {
	name = c.realName(name)
	w := c.root()
	w.mu.Lock()
	hash, marked := w.reads[name]
	w.mu.Unlock()
	return marked, marked && hash == sha256.Sum256(content)
}

// Change locks the files of a Context for a tool that changes them. It waits until no other tool of the same Context
// holds the lock, and holds it until done is called. Without it, a tool that reads a file, edits the content and writes
// it would lose concurrent writes. There is one lock for all files, because one file may have many names.
func (c *Context) Change() (done func()) {
	w := c.root()
	w.changeLock.Lock()
	return w.changeLock.Unlock
}

func (c *Context) realName(name string) string {
	if found, err := c.Resolve(name); err == nil {
		return found
	}
	return name
}

// root returns the context in which calls share the record of read files.
func (c *Context) root() *Context {
	if c.parent != nil {
		return c.parent
	}
	return c
}
