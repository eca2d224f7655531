package mcpconfig

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/indusagi/indus/mcpconfig/internal/foreign"
)

// Client is a program whose configuration of MCP servers [Import] reads, and to
// which [Export] adds indus.
type Client struct {
	// Name is what [Import] and [Export] take, such as "claude-code".
	Name string `json:"name"`
	// Title is what its maker calls it.
	Title string `json:"title"`
	// Writes reports whether [Export] has a form for it.
	Writes bool `json:"writes"`
}

// Clients are all that are known, in alphabetical order.
func Clients() []Client {
	var out []Client
	for _, k := range foreign.All() {
		out = append(out, Client(k))
	}
	return out
}

// Files is where the client keeps its servers on this system, in the order in which
// it prefers them: those of the project in Options.Dir, then the user's. Whether one
// is there is not asked; only of a directory with a file for each server they are
// those that are in it.
func (c Client) Files(o *Options) []string { return newPlace(o).filesOf(c.Name) }

// maxBlocks bounds what a directory of a hostile project can make of a list of files.
const maxBlocks = 100

func (p *readContext) filesOf(client string) []string {
	var files []string
	for _, path := range foreign.Files(client, p.foreign("")) {
		dir, name := filepath.Split(path)
		end, many := strings.CutPrefix(name, "*")
		if !many {
			files = append(files, path)
			continue
		}
		entries, _ := os.ReadDir(dir)
		for _, e := range entries[:min(len(entries), maxBlocks)] {
			if strings.HasSuffix(e.Name(), end) {
				files = append(files, filepath.Join(dir, e.Name()))
			}
		}
	}
	return files
}

// foreign is this place for the package that knows the other clients.
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
