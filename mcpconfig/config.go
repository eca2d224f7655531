package mcpconfig

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"sync"

	"github.com/indusagi/indus/interop/config"
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

// Config is the outcome of a reading. The caller owns it, and no file is read again.
type Config struct {
	// Rows holds all rows of all files, in the order of the files and of the rows in them. It includes rows that do not
	// start.
	Rows []Row
	// Notes are about files and rows, in the same order. Every row that is not [Active] has at least one note with the
	// row's State.
	Notes []Note
	// Searched holds the paths of all files that were looked for. They need not exist.
	Searched []string
	// Views are the selections of servers in the files, one for each name. They are not checked against the rows: a
	// pattern may match servers that do not start.
	Views []View
	// Settings are the members beside the servers and views.
	Settings
	// Watched holds the paths of all files that can change the outcome. These are the paths of Searched, the file of
	// approvals and the files that approvals cover. The files that ${file:…} names in a row that may start are
	// included, with variables replaced. The files need not exist.
	Watched []string

	// Avoided holds the directories of PATH that are in the project. Servers that do not belong to the project do not
	// look for programs there.
	Avoided []string

	isSelected func(id string) bool // nil: all
	// entries returns the entries of Rows. It is a func because entries hold values that must not be printed.
	entries func() []*entry
}

// Load reads the configuration of MCP servers for target, a file or a directory. It returns the servers that may start.
// It never fails: a path that does not exist, a bad row and a server that is held become notes.
//
// If target is a file, that approves it. In a directory, a project's own file is only discovered: its servers are held
// until they are approved ([Approve]). [Read] with Options.Trust starts them. Secrets in ${file:…} and ${cmd:…} are
// fetched. Each command may take 10 s, and is stopped when ctx ends.
func Load(ctx context.Context, target string) (servers []config.Server, notes []Note) {
	c, err := Read(ctx, []string{target}, nil)
	if f := (*fileError)(nil); errors.As(err, &f) {
		return nil, []Note{f.note}
	}
	if err != nil {
		return nil, []Note{{File: target, Reason: err.Error()}}
	}
	return c.Servers(), c.Notes
}

// Read reads the files and directories in paths. If there are none, it searches Options.Dir.
//
// It returns an error for a path that does not exist, and for a named file that cannot be read or parsed at all. The
// text of the error begins with file:line:column, and errors.Is(err, fs.ErrNotExist) and similar checks work. If the
// context ends, it returns ctx.Err(). Everything else becomes a note.
func Read(ctx context.Context, paths []string, opts *Options) (*Config, error) {
	place := newPlace(opts)
	found, err := place.find(paths)
	if err != nil {
		return nil, err
	}
	for _, s := range found.sources {
		if err := place.read(ctx, s); err != nil {
			return nil, err
		}
	}
	place.resolve(found.sources)
	watched := place.watchedPaths(found)
	if err := place.fetch(ctx, found.sources); err != nil {
		return nil, err
	}
	raisePolicies(found.sources)
	c := &Config{
		Searched: found.searched, Views: resolveViews(found.sources),
		Settings: resolveSettings(slices.Concat(found.sources, found.unreadable)),
		Watched:  watched, Notes: place.notes, isSelected: place.Only,
	}
	c.Notes = append(c.Notes, found.notes...)
	_, c.Avoided = place.paths()
	var entries []*entry
	for _, s := range found.sources {
		for i := range s.entries {
			single := &s.entries[i].Server.Single
			*single = *single && (place.Clustered || c.Cluster != nil)
			c.Rows, entries = append(c.Rows, s.entries[i].Row), append(entries, &s.entries[i])
		}
		c.Notes = append(c.Notes, s.sortedNotes()...)
	}
	c.entries = func() []*entry { return entries }
	return c, nil
}

// Servers returns the servers that may start and that Options.Only selects, in order. Their ids are unique.
func (c *Config) Servers() []config.Server {
	var servers []config.Server
	for _, r := range c.Rows {
		if r.State == Active && (c.isSelected == nil || c.isSelected(r.Server.ID)) {
			servers = append(servers, r.Server)
		}
	}
	return servers
}

// Held returns the rows that only wait for approval, in order. Reason is why a row waits, and Hint is how to approve
// it.
func (c *Config) Held() []Row {
	var held []Row
	for _, r := range c.Rows {
		if r.State == Held {
			held = append(held, r)
		}
	}
	return held
}

// readContext holds the place and the variables of a reading. Its Options have no unset fields.
type readContext struct {
	Options
	approved func() []Approved // read on first use
	notes    []Note            // about the place itself

	paths   func() (path string, avoided []string) // [readContext.cutPath] of this process's PATH
	reading sync.Mutex                             // guards files
	files   map[string]fetchResult                 // of projects, by their paths
}

func newPlace(opts *Options) *readContext {
	p := &readContext{files: map[string]fetchResult{}}
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
	p.approved = sync.OnceValue(p.loadApproved)
	p.paths = sync.OnceValues(func() (string, []string) { return p.cutPath(os.Getenv("PATH")) })
	return p
}
