package mcpconfig

import (
	"path/filepath"
	"strings"

	"github.com/indusagi/indus/interop"
)

// stdio fills in a server that is a child process.
func (r *reading) stdio() {
	s := interop.Stdio{
		Command:    r.tilde(r.text("command")),
		Args:       r.texts("args"),
		Env:        r.pairs("env", badVariable),
		Dir:        r.dir(),
		InheritEnv: r.flag("inheritEnv", false),
	}
	if strings.TrimSpace(s.Command) == "" && r.State == Active {
		r.skip(r.fields["command"].StartOffset, `"command" is empty`, "")
	}
	name, _, spaced := strings.Cut(s.Command, " ")
	if spaced && !isMarked(s.Command) && r.State == Active && len(s.Args) == 0 && !strings.ContainsAny(name, `/\`) {
		r.note(r.fields["command"].StartOffset, `"command" holds spaces`, `write the arguments in "args"`)
	}
	r.Server.Transport, r.Kind = s, interop.KindStdio
}

// dir is the working directory. A relative one begins where the file is, or at
// the project if the file is in its .indusvx. A project's server runs in the project
// also where none is named: what "./run.sh" is must not depend on where somebody
// stands. Others run where indus does.
func (r *reading) dir() string {
	dir := r.tilde(r.text("cwd"))
	if dir == "" && r.scope == Project {
		base, err := identity(r.base()) // an approval holds through a link, too
		if err != nil {
			return r.base()
		}
		return base
	}
	if dir == "" || filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(r.base(), dir)
}

// tilde turns a leading "~/" into the home directory, if that is known.
func (f *file) tilde(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && f.place.home != "" {
		return filepath.Join(f.place.home, rest)
	}
	return path
}

func badVariable(name string) string {
	if name == "" || strings.ContainsAny(name, "=\x00") {
		return "no variable can have this name"
	}
	return ""
}
