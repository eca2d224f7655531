package mcpconfig

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig/internal/approvals"
	"github.com/indusagi/indus/mcpconfig/internal/edit"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// ownDirectory is the end of a note about a path in a row. The server of the row starts in an empty directory of its
// own.
const ownDirectory = ", and the server starts in an empty directory of its own"

// base returns the absolute directory at which relative paths of the file begin. It is the file's directory, or the
// directory around its .indusvx or around another program's directory of settings.
func (f *configFile) base() string {
	base, err := filepath.Abs(filepath.Dir(f.path))
	if err != nil { // the working directory is gone
		return filepath.Dir(f.path)
	}
	return projectRoot(base)
}

// workspace returns the directory for ${workspaceFolder} in the file's rows. It is the project of the file, or else the
// directory that is searched for a project.
func (f *configFile) workspace() string {
	if f.inProject() {
		return f.base()
	}
	if dir, err := filepath.Abs(f.place.Dir); err == nil {
		return dir
	}
	return f.place.Dir
}

// inProject reports whether the file belongs to a project: it was found as a project's file, or it was named. A named
// file must be in the searched directory or below, or in a directory for settings of programs in a project. The home
// directory and the root are not projects.
func (f *configFile) inProject() bool {
	if f.scope != Explicit {
		return f.scope == Project
	}
	if f.part == nil {
		base, dir, isProject := atomicfile.Real(f.base()), atomicfile.Real(f.place.Dir), f.place.isProject
		settings, _ := filepath.Abs(filepath.Dir(f.path))
		part := isProject(base) && (projectRoot(settings) != settings || isProject(dir) && isWithin(dir, base))
		f.part = &part
	}
	return *f.part
}

// isProject reports whether a directory can be a project. dir is its real path.
func (p *readContext) isProject(dir string) bool {
	return (p.Home == "" || dir != atomicfile.Real(p.Home)) && filepath.Dir(dir) != dir
}

// isWithin reports whether a path is a directory or is below it.
func isWithin(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// dir returns the directory in which the server starts. A project's server starts in the project: the meaning of
// "./run.sh" must not depend on the working directory. Any other server starts in an empty directory. npx, python -m
// and many other programs run code from their working directory, and that may be a repository of another person. "cwd"
// sets the directory for both.
func (r *reading) dir() (dir string, fresh bool) {
	if v := r.fields["cwd"]; v != nil {
		dir = r.text("cwd", v)
	}
	switch {
	case dir == "" && r.inProject():
		return atomicfile.Real(r.base()), false // an approval holds through a link, too
	case dir == "":
		return r.place.processDir(r.Server.ID), true
	}
	return r.fullPath(dir), false
}

// processDir returns the directory that has the directories of a server's processes. It is "" if there is no place for
// them. Ids may be any text.
func (p *readContext) processDir(id string) string {
	if p.State == "" {
		return ""
	}
	plain := strings.Map(func(c rune) rune {
		if c == '-' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' && c < 0x80 {
			return c
		}
		return '_'
	}, id)
	const maxName = 40
	name := fmt.Sprintf("%s-%.4x", plain[:min(len(plain), maxName)], sha256.Sum256([]byte(id)))
	return filepath.Join(p.State, "servers", name)
}

// tilde replaces a leading "~/" with the home directory, if that is known.
func (f *configFile) tilde(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && f.place.Home != "" {
		return filepath.Join(f.place.Home, rest)
	}
	return path
}

// prepare makes the directories in which servers start. If a directory cannot be made, the row is skipped.
func (p *readContext) prepare(e *entry) {
	t, ok := e.Server.Transport.(config.Stdio)
	if !ok || !t.Fresh {
		return
	}
	hint := `set XDG_STATE_HOME to a directory that you alone can write, or give the server a "cwd"`
	fail := func(reason string) {
		e.Server = config.Server{ID: e.Server.ID}
		e.Approval = ""
		e.file.setState(e, Skipped, "it has no directory to start in: "+reason, hint)
	}
	if t.Dir == "" {
		fail("there is no home directory")
		return
	}
	if err := os.MkdirAll(t.Dir, 0o700); err != nil {
		fail(fmt.Sprintf("%s: %s", t.Dir, edit.Reason(err)))
		return
	}
	for _, dir := range []string{p.State, filepath.Dir(t.Dir), t.Dir} {
		info, err := os.Lstat(dir)
		if err == nil && dir != p.State && !info.IsDir() {
			fail(dir + " is no directory but a link")
			return
		}
		if err := approvals.CheckPrivate(dir); err != nil {
			fail(err.Error())
			return
		}
	}
}

// noteRelativePaths notes the relative paths in a command line. The server starts in an empty directory, so they lead
// nowhere.
func (r *reading) noteRelativePaths(command string, pending bool) {
	const hint = `write the whole path; the project's is "${workspaceFolder}"`
	if strings.ContainsAny(command, `/\`) && !filepath.IsAbs(command) && !pending && !r.noteCommand(command, r.skip) {
		r.skip(r.fields["command"].StartOffset, `"command" is a relative path`+ownDirectory, hint)
	}
	var found []string
	at := 0
	for i, e := range tree.Elements(r.fields["args"]) {
		arg := tree.Text(*e)
		if _, value, ok := strings.Cut(arg, "="); ok {
			arg = value
		}
		first, _, _ := strings.Cut(filepath.ToSlash(arg), "/")
		if first == "." || first == ".." {
			found = append(found, fmt.Sprintf("args[%d]", i))
			at = cmp.Or(at, e.StartOffset)
		}
	}
	if len(found) == 1 {
		r.note(at, found[0]+" is a relative path"+ownDirectory, hint)
	} else if found != nil {
		r.note(at, strings.Join(found[:min(len(found), maxNotes)], ", ")+" are relative paths"+ownDirectory, hint)
	}
}
