package mcpconfig

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/go-envparse"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/locked"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig/internal/tree"
)

// stdio reads a server that is a child process.
func (r *valuedRow) stdio() {
	s := config.Stdio{Path: r.ownPath()}
	var written textValue
	var env []pair
	r.take(
		member{"command", storeIn(&written, r.text)}, member{"args", storeIn(&r.args, r.texts)},
		member{"env", storeIn(&env, r.pairs(badVariable))},
	)
	at := r.fields["command"].StartOffset
	r.command = written.as(r.tilde(written.text))
	s.Command = r.command.text
	for _, a := range r.args {
		s.Args = append(s.Args, a.text)
	}
	s.InheritEnv, _ = r.flag("inheritEnv")
	if s.InheritEnv {
		s.Without = KeyVariables(nil)
	}
	r.dir, s.Fresh = r.startDir()
	s.Dir = r.dir.text
	if s.Fresh {
		r.noteRelativePaths()
	}
	if r.scope != Project { // in another project, a project's own row is another server
		dir := r.dir
		if r.fields["cwd"] == nil {
			dir = textValue{}
		}
		for _, v := range append([]textValue{r.command, dir}, r.args...) {
			text := v.text
			if v.placed { // it depends only on the directory in which indus runs
				text = v.raw
			}
			r.server.Identity = append(r.server.Identity, config.NewSecret(text))
		}
	}
	s.Env = r.envFile(env)
	for _, p := range env {
		s.Env = append(s.Env, config.Pair{Name: p.name, Value: config.NewSecret(p.value.text)})
	}
	if strings.TrimSpace(s.Command) == "" && !r.skipped {
		r.skip(at, `"command" is empty`, "")
	}
	r.noteCommandLine(written)
	s.Sandbox = r.confine(s)
	r.lock(&s)
	r.server.Transport = s
}

// lock replaces the launcher of a row with "lock" by the version in the lock file beside the row's file. Without one
// the server does not start: it must never run the newest version.
func (r *valuedRow) lock(s *config.Stdio) {
	v := r.fields["lock"]
	if v == nil || !r.boolean("lock", v) || r.skipped {
		return
	}
	s.Locked = &config.Locked{}
	path := locked.Path(r.path)
	var words []string // as they are written: a path of one machine is not the lock of another
	for _, w := range r.args {
		words = append(words, w.raw)
	}
	version, behind, err := lockedEntry(path, r.id, r.command.raw, words)
	if err != nil {
		s.Locked.Problem = err.Error()
		return
	}
	if r.inProject() {
		r.files = append(r.files, RowFile{Path: path, Text: version.String()})
	}
	if r.server.Identity == nil { // another version is the same server, whose tools may have changed
		for _, word := range append([]string{s.Command, s.Dir}, s.Args...) {
			r.server.Identity = append(r.server.Identity, config.NewSecret(word))
		}
	}
	data, _ := r.place.Env("XDG_DATA_HOME")
	store := locked.NewStore(data, r.place.Home)
	s.Locked = &config.Locked{Package: version.Package, Version: version.Version, Dir: store.Dir(r.id, version)}
	s.Command, s.Args = store.Command(r.id, version, s.Args[len(s.Args)-behind:])
}

// lockedEntry returns the entry of a row in its lock file, and how many arguments of the row are for the server.
func lockedEntry(path, id, command string, args []string) (version locked.Entry, behind int, err error) {
	spec, err := locked.Parse(command, args)
	if err != nil {
		return version, 0, fmt.Errorf(`it has "lock", and %w`, err)
	}
	file, err := locked.Read(path)
	if err != nil {
		return version, 0, err
	}
	version, ok := file.Servers[id]
	switch {
	case !ok:
		return version, 0, fmt.Errorf(`it has "lock", and %s has no version of it`, tree.QuoteWord(path))
	case !version.Fits(spec):
		return version, 0, fmt.Errorf("%s has a lock of %s, and the row runs %s", tree.QuoteWord(path),
			tree.QuoteWord(strings.Join(version.From, " ")), tree.QuoteWord(strings.Join(spec.Words, " ")))
	}
	return version, len(spec.Args), nil
}

func badVariable(name string) string {
	if name == "" || strings.ContainsAny(name, "=\x00") {
		return "no variable can have this name"
	}
	return ""
}

// ownDirectory is the end of a note about a path in a row. The server of the row starts in an empty directory of its
// own.
const ownDirectory = ", and the server starts in an empty directory of its own"

// startDir returns the directory in which the server starts. A project's server starts in the project: the meaning of
// "./run.sh" must not depend on the working directory. Any other server starts in an empty directory. npx, python -m
// and many other programs run code from their working directory, and that may be a repository of another person. "cwd"
// sets the directory for both.
func (r *valuedRow) startDir() (dir textValue, fresh bool) {
	if v := r.fields["cwd"]; v != nil {
		dir = r.text("cwd", v)
	}
	switch {
	case dir.text == "" && r.inProject():
		return textValue{text: atomicfile.Real(r.base())}, false // an approval holds through a link, too
	case dir.text == "":
		return textValue{text: r.place.processDir(r.id)}, true
	}
	return r.fullPath(dir), false
}

// noteRelativePaths notes the relative paths in a command line. The server starts in an empty directory, so they lead
// nowhere.
func (r *valuedRow) noteRelativePaths() {
	const hint = `write the whole path; the project's is "${workspaceFolder}"`
	command := r.command.text
	relative := strings.ContainsAny(command, `/\`) && !filepath.IsAbs(command) && !r.command.pending()
	if relative && !r.noteCommand(command, r.skip) {
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

// envFile returns the variables of the file that the row names, without the variables that "env" has. Nothing in the
// file is replaced or shown.
func (r *valuedRow) envFile(env []pair) []config.Pair {
	v := r.fields["envFile"]
	if v == nil {
		return nil
	}
	written, _ := r.literal("envFile", v)
	path := r.expand(written, v.StartOffset, "envFile")
	skip := func(reason, hint string) []config.Pair {
		r.skip(v.StartOffset, "envFile "+tree.Quote(written)+": "+reason, hint)
		return nil
	}
	switch {
	case r.skipped || written == "":
		return nil
	case path.pending():
		return skip("the name of the file cannot have ${file:…} or ${cmd:…}", "")
	}
	path = r.fullPath(path)
	want := fetch{kind: "env", target: path.text, root: r.projectOf(path)}
	r.fetches = append(r.fetches, want)
	r.coverFile(want)
	if r.fetched == nil {
		return nil
	}
	got := r.fetched(want)
	if got.reason != "" {
		hint := ""
		if !anchored(written) {
			hint = "relative paths begin at " + tree.QuoteWord(r.base())
		}
		return skip(got.reason, hint)
	}
	vars, err := envparse.Parse(strings.NewReader(strings.TrimPrefix(got.value, "\ufeff")))
	if err != nil {
		return skip(envFault(err), "write NAME=VALUE, and quotes around a value that has a quote or a # in it")
	}
	var out []config.Pair
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if strings.Contains(vars[name], "\x00") {
			return skip("holds a NUL character", "")
		}
		own := func(p pair) bool { return foldKey("env", p.name) == foldKey("env", name) }
		if !slices.ContainsFunc(env, own) {
			out = append(out, config.Pair{Name: name, Value: config.NewSecret(vars[name])})
		}
	}
	return out
}

// anchored reports whether a path begins at the same place in every file.
func anchored(path string) bool {
	return filepath.IsAbs(path) || strings.HasPrefix(path, "~/") || strings.HasPrefix(path, "${")
}

// envFault returns the position and the kind of a mistake in a file of variables. It never returns content of the file.
func envFault(err error) string {
	var at *envparse.ParseError
	if !errors.As(err, &at) {
		return "cannot be read"
	}
	reason := "the name of a variable is not of letters, digits and _"
	for _, known := range []error{
		envparse.ErrMissingSeparator, envparse.ErrEmptyKey, envparse.ErrUnmatchedDouble, envparse.ErrUnmatchedSingle,
		envparse.ErrIncompleteEscape, envparse.ErrIncompleteHex, envparse.ErrIncompleteSur, envparse.ErrMultibyteEscape,
	} {
		if errors.Is(at.Err, known) {
			reason = known.Error()
		}
	}
	return "line " + strconv.Itoa(at.Line) + ": " + reason
}

// single reads whether the server runs once in a cluster. If the value cannot be read, the row is skipped, because the
// server might run twice.
func (r *valuedRow) single() bool {
	v := r.fields["single"]
	switch {
	case v == nil || !r.boolean("single", v):
		return false
	case r.server.Pool.Per != "":
		r.skip(v.StartOffset, `a "single" server has one process for all principals, and "per" asks for more`,
			"remove one of the two")
	case !r.maySet():
		r.refused = `"single" is not heeded: a project's file does not say where servers run`
		return false
	}
	r.remarkUnused(`a "single" server has one process, so`, "instances")
	return true
}
