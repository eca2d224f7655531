package mcpconfig

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"sync"

	"github.com/indusagi/indus/interop"
)

// Options of [Read]; nil and the zero value are good.
type Options struct {
	// Trust starts the servers of a project's file although it was only
	// discovered, and servers that take something from the project. False holds back those that are not approved.
	Trust bool
	// Dry only looks: no ${cmd:…} is run, and no ${file:…} read but those of the project, which an approval covers. They are
	// in the servers as the file has them.
	Dry bool
	// Only chooses servers by their ids: nothing is fetched for the others, and they are
	// not in [Config.Servers]. nil: all.
	Only func(id string) bool
	// Dir is searched where no path is named; "" is the working directory.
	Dir string
	// Env looks up variables, for ${VAR} and for HOME and XDG_CONFIG_HOME; nil is [os.LookupEnv].
	Env func(name string) (string, bool)
	// Home is the user's home directory; "" is $HOME (on Windows %USERPROFILE%).
	// Where neither is set, no file of the user's is searched.
	Home string
	// XDG is the user's configuration directory; "" is $XDG_CONFIG_HOME, else .config in Home.
	XDG string
	// State is where approvals are remembered; "" is what [StateDir] says.
	State string
}

// Config is what the files say. The caller owns it; nothing is read again.
type Config struct {
	// Rows are all rows of all files, those that do not start included, in the
	// order of the files and of the rows in them.
	Rows []Row
	// Notes are about files and rows, in the same order. Every row that is not
	// [Active] has at least one whose State is the row's.
	Notes []Note
	// Searched are the files that were looked for, whether or not they are there.
	Searched []string
	// Views are the selections of servers that the files name, one of each name. Of the rows
	// they say nothing: a pattern may be about servers that do not start.
	Views []View
	// Auth is how clients of indus serve say who they are. nil: no file says so.
	Auth *Auth
	// Watched are the files whose change may change the outcome: those of Searched,
	// the approvals, what a ${file:…} of a row that may start names (a path, with
	// its variables replaced), and the files that approvals cover. Whether they are there is not asked.
	Watched []string

	// Avoided are the directories of PATH that lie in the project. Servers that are not the project's do not look for
	// programs there.
	Avoided []string

	only    func(id string) bool // nil: all
	entries func() []*entry      // of Rows; a func, because they hold what must not print
}

// Load reads what configures MCP servers for target, a file or a directory, and
// returns those that may start. It never fails: a path that does not exist, a bad
// row, a server that is held back, each is a note.
//
// Naming a file is approving it. In a directory, a project's own file is only
// discovered: its servers are held back until they are approved ([Approve]), and [Read]
// with Options.Trust starts them. Secrets in ${file:…} and ${cmd:…} are fetched, which
// may take 10 s for each command, and ends with ctx.
func Load(ctx context.Context, target string) (servers []interop.Server, notes []Note) {
	c, err := Read(ctx, []string{target}, nil)
	if f := (*fileError)(nil); errors.As(err, &f) {
		return nil, []Note{f.note}
	}
	if err != nil {
		return nil, []Note{{File: target, Reason: err.Error()}}
	}
	return c.Servers(), c.Notes
}

// Read reads the files and directories that paths name, or searches Options.Dir
// where there are none.
//
// It returns an error for a path that does not exist and for a named file that
// cannot be read or parsed at all (the text begins with file:line:column, and
// errors.Is(err, fs.ErrNotExist) and the like hold), and ctx.Err() once the
// context is over. All else is a note.
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
	watched := place.watched(found)
	if err := place.fetch(ctx, found.sources); err != nil {
		return nil, err
	}
	raise(found.sources)
	c := &Config{Searched: found.searched, Views: resolveViews(found.sources), Auth: resolveAuth(slices.Concat(found.sources, found.lost)), Watched: watched, Notes: place.notes, only: place.Only}
	c.Notes = append(c.Notes, found.notes...)
	_, c.Avoided = place.paths()
	var entries []*entry
	for _, s := range found.sources {
		for i := range s.entries {
			c.Rows, entries = append(c.Rows, s.entries[i].Row), append(entries, &s.entries[i])
		}
		c.Notes = append(c.Notes, s.sorted()...)
	}
	c.entries = func() []*entry { return entries }
	return c, nil
}

// Servers are those that may start, and that Options.Only wants, in order; their ids
// are unique.
func (c *Config) Servers() []interop.Server {
	var servers []interop.Server
	for _, r := range c.Rows {
		if r.State == Active && (c.only == nil || c.only(r.Server.ID)) {
			servers = append(servers, r.Server)
		}
	}
	return servers
}

// Held are the rows that only wait for approval, in order. Each Reason says why,
// each Hint how to approve.
func (c *Config) Held() []Row {
	var held []Row
	for _, r := range c.Rows {
		if r.State == Held {
			held = append(held, r)
		}
	}
	return held
}

// readContext is where and with what variables a reading happens. Its Options are filled in.
type readContext struct {
	Options
	approved func() []Approved // read when somebody asks
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
			value = "" // whatever came with it
		}
		return value, ok
	}
	p.locate()
	p.approved = sync.OnceValue(p.remembered)
	p.paths = sync.OnceValues(func() (string, []string) { return p.cutPath(os.Getenv("PATH")) })
	return p
}
