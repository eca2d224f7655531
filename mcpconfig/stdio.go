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
		InheritEnv: r.flag("inheritEnv", false),
		Path:       r.ownPath(),
	}
	if s.InheritEnv {
		s.Without = KeyVariables(nil)
	}
	if s.Dir, s.Fresh = r.dir(); s.Fresh {
		r.relatives(s.Command)
	}
	if r.scope != Project { // what a project's own row runs is another server in another project
		r.Server.Identity = r.identityOf(s)
	}
	s.Env = append(r.envFile(s), s.Env...)
	if strings.TrimSpace(s.Command) == "" && r.State == Active {
		r.skip(r.fields["command"].StartOffset, `"command" is empty`, "")
	}
	name, _, spaced := strings.Cut(s.Command, " ")
	if spaced && !isMarked(s.Command) && r.State == Active && len(s.Args) == 0 && !strings.ContainsAny(name, `/\`) {
		r.note(r.fields["command"].StartOffset, `"command" holds spaces`, `write the arguments in "args"`)
	}
	r.Server.Transport, r.Kind = s, interop.KindStdio
}

// identityOf is a server's command, directory and arguments without what they are only because
// of where a command is run.
func (r *reading) identityOf(s interop.Stdio) (parts []interop.Secret) {
	list := append([]string{s.Command, s.Dir}, s.Args...)
	if r.fields["cwd"] == nil {
		list[1] = ""
	}
	for _, text := range list {
		if raw, ok := r.placed[text]; ok {
			text = raw
		}
		parts = append(parts, interop.NewSecret(text))
	}
	return parts
}

// tilde turns a leading "~/" into the home directory, if that is known.
func (f *configFile) tilde(path string) string {
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
