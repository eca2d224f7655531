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
	if spaced && r.State == Active && len(s.Args) == 0 && !strings.ContainsAny(name, `/\`) {
		r.note(r.fields["command"].StartOffset, `"command" holds spaces`, `write the arguments in "args"`)
	}
	r.Server.Transport, r.Kind = s, interop.KindStdio
}

// dir is the working directory. A relative one begins where the file is, or at
// the project if the file is in its .indusvx.
func (r *reading) dir() string {
	dir := r.tilde(r.text("cwd"))
	if dir == "" || filepath.IsAbs(dir) {
		return dir
	}
	base, err := filepath.Abs(filepath.Dir(r.path))
	if err != nil {
		return dir
	}
	if filepath.Base(base) == ".indusvx" {
		base = filepath.Dir(base)
	}
	return filepath.Join(base, dir)
}

// tilde turns a leading "~/" into the home directory, if that is known.
func (r *reading) tilde(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && r.place.home != "" {
		return filepath.Join(r.place.home, rest)
	}
	return path
}

func badVariable(name string) string {
	if name == "" || strings.ContainsAny(name, "=\x00") {
		return "no variable can have this name"
	}
	return ""
}
