package mcpconfig

import (
	"github.com/indusagi/indus/interop/config"
)

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
