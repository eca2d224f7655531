package toolbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// dirFS is an FS over one directory of this machine.
type dirFS struct{ root *os.Root }

var (
	_ FS            = dirFS{}
	_ fs.ReadLinkFS = dirFS{}
)

// DirFS returns the files below dir, which must exist. Nothing outside dir can be reached through it. The kernel
// resolves each name from the open directory, and refuses absolute symlinks and symlinks that leave it. See
// [os.Root].
//
// It keeps dir open as long as it is in use. It is also an [io.Closer], for programs that cannot wait for the
// garbage collector.
func DirFS(dir string) (FS, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("toolbox: %w", err)
	}
	return dirFS{root}, nil
}

func (d dirFS) Close() error { return d.root.Close() }

func (d dirFS) Open(name string) (fs.File, error) {
	// Without nonBlocking, opening a pipe would wait for its writer, possibly forever.
	file, err := d.root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = errors.New("neither a file nor a directory")
	}
	if err != nil {
		_ = file.Close()
		return nil, pathError("open", name, err)
	}
	return file, nil
}

func (d dirFS) Stat(name string) (fs.FileInfo, error) {
	info, err := d.root.Stat(filepath.FromSlash(name))
	return info, pathError("stat", name, err)
}

func (d dirFS) Lstat(name string) (fs.FileInfo, error) {
	info, err := d.root.Lstat(filepath.FromSlash(name))
	return info, pathError("lstat", name, err)
}

func (d dirFS) ReadLink(name string) (string, error) {
	to, err := d.root.Readlink(filepath.FromSlash(name))
	return to, pathError("readlink", name, err)
}

func (d dirFS) MkdirAll(name string, perm fs.FileMode) error {
	return pathError("mkdir", name, d.root.MkdirAll(filepath.FromSlash(name), perm))
}

func (d dirFS) Remove(name string) error {
	return pathError("remove", name, d.root.Remove(filepath.FromSlash(name)))
}

func (d dirFS) WriteFile(name string, data []byte, perm fs.FileMode) error {
	return pathError("write", name, d.write(name, data, perm))
}

// write writes a new file next to the old file and renames it, because only a rename replaces a file atomically.
// It opens the directory once, so that both steps use the same directory even if its name changes meanwhile.
func (d dirFS) write(name string, data []byte, perm fs.FileMode) error {
	name, err := resolve(d, name) // a rename would replace a symlink instead of its target
	if err != nil {
		return err
	}
	dir, err := d.root.OpenRoot(filepath.FromSlash(path.Dir(name)))
	if err != nil {
		return err
	}
	defer dir.Close()
	return replace(dir, path.Base(name), data, perm)
}

func replace(dir *os.Root, name string, data []byte, perm fs.FileMode) error {
	old, err := dir.Lstat(name)
	switch {
	case err == nil && !old.Mode().IsRegular():
		return errors.New("not a regular file")
	case err == nil:
		perm = old.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	temporary := ".indus-" + rand.Text()
	err = create(dir, temporary, data, perm, old != nil)
	if err == nil {
		err = dir.Rename(temporary, name)
	}
	if err != nil {
		_ = dir.Remove(temporary)
	}
	return err
}

// create writes a file, which must not exist. If exact is true, it sets perm regardless of the umask.
func create(dir *os.Root, name string, data []byte, perm fs.FileMode, exact bool) error {
	file, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if exact && err == nil {
		err = file.Chmod(perm)
	}
	return errors.Join(err, file.Close())
}

// escapeMessage is the message of os.Root for a name that leaves the root. Package os exports no error for it.
const escapeMessage = "path escapes from parent"

// pathError puts the requested name into err, and replaces the error of os.Root by ErrOutside.
func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	if wrapped := (*fs.PathError)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	if err.Error() == escapeMessage {
		err = ErrOutside
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
