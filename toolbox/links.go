package toolbox

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

// maxLinks is the maximum number of symlinks that one name may lead through, as on Linux.
const maxLinks = 40

// Resolve returns the name of the file in FS to which name leads after symlinks are followed. name is a result of
// [Context.Path]. Two names of one file have the same result. A part that does not exist yet is kept as written. An FS
// that does not implement [fs.ReadLinkFS] has no symlinks.
func (c *Context) Resolve(name string) (string, error) {
	if files, ok := c.FS.(fs.ReadLinkFS); ok {
		return resolve(files, name)
	}
	return path.Clean(name), nil
}

// resolve follows symlinks one by one, as the kernel does: ".." after a symlink is the parent of the symlink's target.
func resolve(files fs.ReadLinkFS, name string) (string, error) {
	refused := &fs.PathError{Op: "resolve", Path: name, Err: ErrOutside}
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", refused
	}
	resolved, rest, element := ".", name, ""
	for links := 0; rest != ""; {
		element, rest, _ = strings.Cut(rest, "/")
		switch {
		case element == "" || element == ".":
			continue
		case element == ".." && resolved == ".":
			return "", refused
		case element == "..":
			resolved = path.Dir(resolved)
			continue
		}
		next := path.Join(resolved, element)
		info, err := files.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist): // no symlink can follow
			if next = path.Join(next, rest); !filepath.IsLocal(filepath.FromSlash(next)) {
				return "", refused
			}
			return next, nil
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink == 0:
			resolved = next
			continue
		}
		to, err := files.ReadLink(next)
		if err != nil {
			return "", err
		}
		if links++; links > maxLinks {
			return "", &fs.PathError{Op: "resolve", Path: name, Err: errors.New("too many levels of symbolic links")}
		}
		if filepath.IsAbs(to) {
			return "", refused
		}
		rest = filepath.ToSlash(to) + "/" + rest
	}
	return resolved, nil
}
