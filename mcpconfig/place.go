package mcpconfig

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/atomicfile"
	"github.com/indusagi/indus/internal/proc"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/mcpconfig/internal/approvals"
	"github.com/indusagi/indus/mcpconfig/internal/edit"
	"github.com/indusagi/indus/mcpconfig/internal/foreign"
)

const (
	maxFile   = 1 << 20 // bytes of one file; a thousand servers take a tenth of it
	maxRows   = 1000    // of one file, because half a million fit into 1 MiB
	maxExpand = 4 << 20 // bytes that the variables of one file may add, because a short ${PATH} can occur often
)

const (
	maxFetched  = 64 << 10         // bytes of one file's content or one command's output
	commandWait = 10 * time.Second // a keyring that waits for a person takes longer; it can be unlocked first
	commandTerm = time.Second      // from SIGTERM to SIGKILL
	maxParallel = 4                // commands that run at the same time
	maxCommands = 100              // of one reading, so that it ends in minutes even if every command is slow
	maxFiles    = 1000             // of one reading, because 100,000 fit into 1 MiB
)

// Options configures [Read]. Nil and the zero value are valid.
type Options struct {
	// Trust starts the servers of a project's file that was only discovered, and servers that take something from the
	// project. If it is false, such servers are held until they are approved.
	Trust bool
	// Dry runs no ${cmd:…}, and leaves all ${cmd:…} and ${file:…} in the servers as the file has them. Of the files
	// that rows name it reads only files of the project, because an approval covers their content.
	Dry bool
	// Only selects servers by their ids. Nothing is fetched for the others, and they are not in [Config.Servers]. If it
	// is nil, all are selected.
	Only func(id string) bool
	// Clustered states that the program shares state, even if no file has "cluster". If it is false and no file has it,
	// no server is Single: each program has its own process anyway.
	Clustered bool
	// Dir is the directory that is searched if no path is named. If it is "", it is the working directory.
	Dir string
	// Env looks up variables, for ${VAR} and for HOME and XDG_CONFIG_HOME. If it is nil, it is [os.LookupEnv].
	Env func(name string) (string, bool)
	// Home is the user's home directory. If it is "", it is $HOME (on Windows %USERPROFILE%). If neither is set, no
	// file of the user is searched.
	Home string
	// XDG is the user's configuration directory. If it is "", it is $XDG_CONFIG_HOME, or else .config in Home.
	XDG string
	// State is the directory of the approvals. If it is "", it is the default of [StateDir].
	State string
}

// readContext holds the place and the variables of a reading. Its Options have no unset fields.
type readContext struct {
	Options
	approved func() []Approved // read on first use
	notes    []Note            // about the place itself

	userBoxes func() userBoxes // see newReading

	paths   func() (path string, avoided []string) // [readContext.cutPath] of this process's PATH
	reading sync.Mutex                             // guards files
	files   map[string]fetchResult                 // of projects, by their paths
}

// boxValue is a value of "sandboxDefault" or "sandboxProject" that was read.
type boxValue struct {
	box   *config.Sandbox // nil: "off"
	wrong string          // why it cannot be used; "" if it can
}

// userBoxes has the rules of the user's own files about the sandboxes of projects' servers.
type userBoxes struct {
	wrong                string               // why they are not known; "" if they are
	byDefault, inProject func(*site) boxValue // nil: no file has it
	confined             map[string]bool      // the ids of rows with a sandbox
}

func newPlace(opts *Options) *readContext {
	p := &readContext{files: map[string]fetchResult{}, userBoxes: func() (none userBoxes) { return none }}
	if opts != nil {
		p.Options = *opts
	}
	p.Dir = cmp.Or(p.Dir, ".")
	lookup := p.Env
	if lookup == nil {
		lookup = os.LookupEnv
	}
	p.Env = func(name string) (string, bool) {
		value, ok := lookup(name)
		if !ok {
			value = "" // ignore any value that the lookup returned
		}
		return value, ok
	}
	p.locate()
	p.approved = sync.OnceValue(func() []Approved {
		list, err := p.store().Read()
		if err != nil { // they cannot be trusted
			p.notes = append(p.notes, Note{Reason: err.Error()})
		}
		return list
	})
	p.paths = sync.OnceValues(func() (string, []string) { return p.cutPath(os.Getenv("PATH")) })
	return p
}

// locate sets the directories of the user. A variable that is not absolute is ignored, because the working directory
// does not belong to the user.
func (p *readContext) locate() {
	locate := func(to *string, name string) {
		if *to != "" {
			return
		}
		if *to, _ = p.Env(name); *to != "" && !filepath.IsAbs(*to) {
			p.notes = append(p.notes, Note{Reason: name + " is not an absolute path and is ignored"})
			*to = ""
		}
	}
	home := "HOME"
	if runtime.GOOS == "windows" {
		home = "USERPROFILE"
	}
	locate(&p.Home, home)
	locate(&p.XDG, "XDG_CONFIG_HOME")
	if p.XDG == "" && p.Home != "" {
		p.XDG = filepath.Join(p.Home, ".config")
	}
	state, _ := p.Env("XDG_STATE_HOME")
	switch {
	case p.State != "":
	case filepath.IsAbs(state):
		p.State = filepath.Join(state, "indus")
	case p.Home != "":
		p.State = filepath.Join(p.Home, ".local", "state", "indus")
	}
}

// pathOf returns the path of the file of a scope. For [Project] it is in the given directory. It is "" if there is no
// such place.
func (p *readContext) pathOf(scope Scope, dir string) string {
	switch {
	case scope == Project:
		return filepath.Join(dir, ".indusvx", "mcp.json")
	case scope == User && p.XDG != "":
		return filepath.Join(p.XDG, "indusvx", "mcp.json")
	case scope == Legacy && p.Home != "":
		return filepath.Join(p.Home, ".indusvx", "agent", "mcp.json")
	case scope == LegacyAlt && p.Home != "":
		return filepath.Join(p.Home, ".indusvx", "agent", "mcp-servers.json")
	}
	return ""
}

func (p *readContext) store() approvals.Store[Approved] {
	compare := func(a, b Approved) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Project, b.Project))
	}
	return approvals.Store[Approved]{Dir: p.State, Name: "approvals.json", Compare: compare}
}

// fetch is a request of a ${file:…} or ${cmd:…}.
type fetch struct {
	kind   string // "file", "env" (a file of variables) or "cmd"
	target string // an absolute path, or a command line
	dir    string // where the command runs
	path   string // of a command: the PATH of its environment; "": the PATH of this process
	root   string // of a file: the project that it must not leave; "": there is no such bound
}

// fetchResult is the outcome of a fetch: a value, or the reason why there is none. The reason never shows a part of the
// value.
type fetchResult struct{ value, reason string }

// projectFile returns the content of a file of the project. It is read once in a reading, so the content that is shown,
// approved and used is the same.
func (p *readContext) projectFile(f fetch) fetchResult {
	p.reading.Lock()
	defer p.reading.Unlock()
	if result, ok := p.files[f.target]; ok {
		return result
	}
	if len(p.files) >= maxFiles {
		return fetchResult{reason: limitReasons["file"]}
	}
	result := readFrom(f)
	p.files[f.target] = result
	return result
}

func readFrom(f fetch) fetchResult {
	path, err := filepath.EvalSymlinks(f.target)
	if err != nil {
		path = f.target // reading it returns the error
	} else if f.root != "" && !isWithin(f.root, path) {
		return fetchResult{reason: "is a link that leads out of the project"}
	}
	text, err := atomicfile.ReadPlain(path, maxFetched)
	if err != nil {
		return fetchResult{reason: edit.Reason(err)}
	}
	return fetchResult{value: string(text)}
}

// limitReasons has the reason why a fetch beyond the limits of a reading fails.
var limitReasons = map[string]string{
	"cmd":  fmt.Sprintf("is not run: a reading runs at most %d commands", maxCommands),
	"file": fmt.Sprintf("is not read: a reading reads at most %d files", maxFiles),
}

// foreign returns this place in the form that package foreign takes.
func (p *readContext) foreign(path string) *foreign.Place {
	absolute := func(path string) string {
		if abs, err := filepath.Abs(path); err == nil {
			return abs
		}
		return path
	}
	out := &foreign.Place{OS: runtime.GOOS, Dir: absolute(p.Dir), Home: p.Home, Config: p.XDG, Env: p.Env}
	if path != "" {
		out.Path = absolute(path)
	}
	return out
}

// PathOf returns the path of the file of a scope. The file need not exist.
func PathOf(scope Scope, o *Options) (string, error) {
	p := newPlace(o)
	if scope == Explicit || !slices.Contains([]Scope{Project, User, Legacy, LegacyAlt}, scope) {
		return "", fmt.Errorf("the scope %q has no place of its own", scope)
	}
	if path := p.pathOf(scope, p.Dir); path != "" {
		return path, nil
	}
	return "", &fileError{note: Note{
		Reason: "there is no home directory to keep the user's servers in", Hint: "set HOME, or name a file",
	}}
}

// isProject reports whether a directory can be a project. dir is its real path.
func (p *readContext) isProject(dir string) bool {
	return (p.Home == "" || dir != atomicfile.Real(p.Home)) && filepath.Dir(dir) != dir
}

// territoryOf returns the whole project around a directory: the root of the outermost repository, as a real path. It
// returns "" if the directory is not a project, or if the user's own configuration or state is in it.
func (p *readContext) territoryOf(dir string) string {
	root := atomicfile.Real(dir)
	if !p.isProject(root) {
		return ""
	}
	for up := root; p.isProject(up); up = filepath.Dir(up) {
		if _, err := os.Lstat(filepath.Join(up, ".git")); err == nil {
			root = up
		}
	}
	for _, own := range []string{p.XDG, p.State} {
		if own != "" && isWithin(root, atomicfile.Real(own)) {
			return ""
		}
	}
	return root
}

// cutPath returns a list of directories in which to look for programs. Relative directories are left out, and so are
// directories of the project beside which a row of the user would start. avoided holds the directories of the project.
func (p *readContext) cutPath(list string) (path string, excluded []string) {
	project, current := p.territoryOf(p.Dir), p.territoryOf(".") // p.Dir may have been named, and be in another project
	isInProject := func(dir string) bool {
		return project != "" && isWithin(project, dir) || current != "" && isWithin(current, dir)
	}
	var paths []string
	for _, dir := range filepath.SplitList(list) {
		switch {
		case !filepath.IsAbs(dir):
		case isInProject(dir) || isInProject(atomicfile.Real(dir)):
			excluded = append(excluded, dir)
		default:
			paths = append(paths, dir)
		}
	}
	if excluded == nil {
		return list, nil
	}
	if paths == nil {
		return proc.Command{}.SearchPath(), excluded
	}
	return strings.Join(paths, string(filepath.ListSeparator)), excluded
}

// isWithin reports whether a path is a directory or is below it.
func isWithin(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// processDir returns the directory that has the directories of a server's processes. It is "" if there is no place for
// them.
func (p *readContext) processDir(id string) string { return p.serverDir("servers", id, "") }

// serverDir returns a directory of a server in the state of indus. It is "" if there is no place for it. Ids may be any
// text. file tells apart servers of one id.
func (p *readContext) serverDir(kind, id, file string) string {
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
	if file != "" {
		id += "\x00" + file
	}
	name := fmt.Sprintf("%s-%.4x", plain[:min(len(plain), maxName)], sha256.Sum256([]byte(id)))
	return filepath.Join(p.State, kind, name)
}

// isOwn reports whether a path leads to one of the user's own files.
func (p *readContext) isOwn(path string) bool {
	info, err := os.Stat(path)
	return err == nil && slices.ContainsFunc([]Scope{User, Legacy, LegacyAlt}, func(scope Scope) bool {
		own, err := os.Stat(p.pathOf(scope, ""))
		return err == nil && os.SameFile(info, own)
	})
}
