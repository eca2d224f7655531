package mcpconfig

import (
	"context"
	"errors"
	"slices"

	"github.com/indusagi/indus/interop/config"
)

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
	place := newReading(opts)
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
