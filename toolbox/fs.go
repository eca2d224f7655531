package toolbox

import (
	"errors"
	"io/fs"
)

// ErrOutside is the error of a path that leads out of the directory.
var ErrOutside = errors.New("the path leads outside the directory")

// ErrAbsent is the error if a [Context] has no files or no shell.
var ErrAbsent = errors.New("there is none here")

// absentError is an [ErrAbsent] with a text that names the missing resource.
type absentError string

func (a absentError) Error() string { return string(a) }

func (a absentError) Is(target error) bool { return target == ErrAbsent }

// FS gives access to the files that a tool may use.
//
// Names are relative to the root and divided by slashes, as in [fs.FS]; "." is the root. They need
// not be valid UTF-8, because file names need not be. An FS is an [fs.FS], so [fs.ReadDir] and
// [fs.WalkDir] accept it. An FS with symlinks is also an [fs.ReadLinkFS].
//
// Implementers keep every name inside the root. A name that leaves the root, also through a
// symlink, is refused with [ErrOutside]. Errors are [*fs.PathError] with the name that the method
// was given. All methods are safe for concurrent use.
type FS interface {
	// Open opens a regular file or a directory for reading; a directory is an [fs.ReadDirFile].
	// Anything else (a pipe, a device) is refused without waiting for it.
	Open(name string) (fs.File, error)
	// Stat follows symlinks.
	Stat(name string) (fs.FileInfo, error)
	// WriteFile replaces the file by data atomically. A concurrent reader sees the old or the new
	// content. An existing file keeps its permissions, and a new file gets perm. WriteFile follows
	// symlinks, and refuses anything but a regular file.
	WriteFile(name string, data []byte, perm fs.FileMode) error
	// MkdirAll makes a directory and its parents.
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
	return &fs.PathError{Op: op, Path: name, Err: absentError("there are no files here")}
}
