package mcpconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/indusagi/indus/internal/filelock"
)

// Who waits for the lock of a directory looks this often, and gives up in the end:
// a save takes a few milliseconds.
const (
	lockLook     = 5 * time.Millisecond
	lockPatience = 10 * time.Second
)

// maxRewrite bounds a file of another program, which may keep much beside its servers.
const maxRewrite = 64 << 20

// Save writes the file, with the directories it needs. Whoever reads it, also
// after a crash, finds the old text or the new one. Its mode stays, and a symbolic
// link stays one; a new file is for the user alone, because it may hold secrets.
//
// If the file is no longer what [Open] read, Save writes nothing and its error is
// [ErrChanged]. Of processes that save with this package none can overwrite
// another's change, on Unix; what another program writes in the moment between the
// last look and the replacement, less than a millisecond, would be lost.
func (e *Edit) Save() error { return e.save(e.Text()) }

// Rewrite gives a file the text that change makes of its old one, which is nil where
// there is no file. What [Edit.Save] promises holds for it too. If change fails, or
// returns what it was given, nothing is written.
func Rewrite(path string, change func(text []byte) ([]byte, error)) error {
	o, err := readOriginal(path, maxRewrite)
	if err != nil {
		return err
	}
	text, err := change(bytes.Clone(o.before))
	if err != nil {
		return err
	}
	return o.save(text)
}

// original is a file as it was read, which is to be replaced.
type original struct {
	path   string // as it was named
	target string // where its symbolic links lead
	before []byte
	info   fs.FileInfo // nil where there is no file
	limit  int64
}

func readOriginal(path string, limit int64) (*original, error) {
	o := &original{path: path, limit: limit}
	var err error
	if o.target, err = follow(path); err != nil {
		return nil, o.fault(err, "")
	}
	if err := o.strays(); err != nil {
		return nil, err
	}
	if o.before, o.info, err = o.read(); err != nil {
		return nil, o.fault(err, "")
	}
	return o, nil
}

func (o *original) fault(err error, hint string) error {
	return &fault{note: Note{File: o.path, Reason: plain(err), Hint: hint}, err: err}
}

// strays refuses a project's file that is really one elsewhere: who clones a repository with
// a link in it must not write the user's own file, or another project's, by it.
func (o *original) strays() error {
	f := &file{source: &source{path: o.path, scope: Explicit}, place: newPlace(nil)}
	target, err := standing(o.target)
	if err != nil || !f.inProject() || within(real(f.base()), target) {
		return nil
	}
	return o.fault(fmt.Errorf("a symbolic link leads out of the project, to %s", word(target)), "remove the link, or name that file itself")
}

// follow is where the symbolic links at path lead, also where nothing is there.
func follow(path string) (string, error) {
	if path == "" {
		return "", errors.New("an empty path names no file")
	}
	for range 40 {
		info, err := os.Lstat(path)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
			return path, err
		}
		to, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return "", errors.New("too many symbolic links")
}

// read is what the file holds now; of a file that is not there, nil and nil.
func (o *original) read() ([]byte, fs.FileInfo, error) {
	info, err := os.Stat(o.target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	case info.Mode().IsRegular() && info.Size() == 0:
		return []byte{}, info, nil
	}
	text, err := readRegular(o.target, o.limit)
	return text, info, err
}

// save replaces the text, unless the file is not what it was.
func (o *original) save(text []byte) error {
	if bytes.Equal(text, o.before) && (o.info != nil || text == nil) {
		return nil
	}
	dir := filepath.Dir(o.target)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return o.fault(err, "")
	}
	unlock, err := lockDir(dir)
	if err != nil {
		return o.fault(err, "")
	}
	defer unlock()
	if err := o.unchanged(); err != nil {
		return err
	}
	if err := o.writable(); err != nil {
		return o.fault(err, "")
	}
	if err := o.write(dir, text); err != nil {
		return o.fault(err, "")
	}
	o.before = text
	o.info, err = os.Stat(o.target)
	return err
}

// unchanged looks whether the file is what was read.
func (o *original) unchanged() error {
	if to, err := follow(o.path); err == nil && to == o.target {
		now, info, err := o.read()
		if err == nil && bytes.Equal(now, o.before) && (info == nil) == (o.info == nil) {
			o.info = info
			return nil
		}
	}
	return &fault{note: Note{File: o.path, Reason: ErrChanged.Error(), Hint: "try again"}, err: ErrChanged}
}

// writable is an error for a file that somebody has made read-only: replacing it
// would need no permission but the directory's.
func (o *original) writable() error {
	if o.info == nil {
		return nil
	}
	if o.info.Mode().Perm()&0o222 == 0 { // for root too
		return &fs.PathError{Op: "open", Path: o.target, Err: fs.ErrPermission}
	}
	f, err := os.OpenFile(o.target, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// write replaces the file. The new text has a fixed name until it is complete, so
// that a crash leaves at most one such file, and it is never written through what
// somebody put there.
func (o *original) write(dir string, text []byte) error {
	name := filepath.Join(dir, "."+filepath.Base(o.target)+".new")
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil && o.info != nil {
		err = f.Chmod(o.info.Mode().Perm())
		keepOwner(f, o.info)
	}
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(name, o.target)
	}
	if err != nil {
		_ = os.Remove(name)
		return err
	}
	syncDir(dir)
	return nil
}

// lockDir keeps other editors of this package out of a directory.
func lockDir(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(lockPatience); ; time.Sleep(lockLook) {
		if !errors.Is(filelock.Try(f), filelock.ErrHeld) { // on a system or a file system without locks everybody has it
			return func() { f.Close() }, nil // which unlocks
		}
		if time.Now().After(end) {
			f.Close()
			return nil, fmt.Errorf("another process has been writing in %s for %s", dir, lockPatience)
		}
	}
}

// syncDir makes a renaming last. Where that cannot be done the file is whole anyway.
func syncDir(dir string) {
	if f, err := os.Open(dir); err == nil {
		_ = f.Sync()
		f.Close()
	}
}
