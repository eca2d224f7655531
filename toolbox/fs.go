package toolbox

import (
	"errors"
	"io/fs"
)

// ErrOutside is the error of a path that leads out of the directory.
var ErrOutside = errors.New("the path leads outside the directory")

// ErrAbsent is the error of files and of a shell that a [Context] has not.
var ErrAbsent = errors.New("there is none here")

// absence is an [ErrAbsent] that says what there is none of.
type absence string

func (a absence) Error() string { return string(a) }

func (a absence) Is(target error) bool { return target == ErrAbsent }

// FS is the files that a tool may touch.
//
// Names are relative to the root and divided by slashes, as in [fs.FS], but need not be
// valid UTF-8, because files' names need not; "." is the root. An FS is an [fs.FS]:
// [fs.ReadDir] and [fs.WalkDir] take one. One with symlinks is an [fs.ReadLinkFS] too.
//
// Implementers keep every name inside the root: one that leaves it, through a
// symlink too, is an error that is [ErrOutside]. Errors are [*fs.PathError], with the
// name the method was given. All methods are safe for concurrent use.
type FS interface {
	// Open opens a regular file or a directory for reading; a directory is an
	// [fs.ReadDirFile]. Anything else (a pipe, a device) is refused without waiting for it.
	Open(name string) (fs.File, error)
	// Stat follows symlinks.
	Stat(name string) (fs.FileInfo, error)
	// WriteFile puts data in place of the file atomically: who reads it meanwhile
	// sees the old or the new. A file that is there keeps its permissions,
	// a new one gets perm. It follows symlinks; anything but a regular file is refused.
	WriteFile(name string, data []byte, perm fs.FileMode) error
	// MkdirAll makes a directory and those above it.
	MkdirAll(name string, perm fs.FileMode) error
	// Remove removes one file, one symlink or one empty directory.
	Remove(name string) error
}

// noFS is an [FS] that refuses everything with [ErrAbsent].
type noFS struct{}

var _ FS = noFS{}

func (noFS) Open(name string) (fs.File, error)                    { return nil, refuseFile("open", name) }
func (noFS) Stat(name string) (fs.FileInfo, error)                { return nil, refuseFile("stat", name) }
func (noFS) WriteFile(name string, _ []byte, _ fs.FileMode) error { return refuseFile("write", name) }
func (noFS) MkdirAll(name string, _ fs.FileMode) error            { return refuseFile("mkdir", name) }
func (noFS) Remove(name string) error                             { return refuseFile("remove", name) }

func refuseFile(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: absence("there are no files here")}
}
