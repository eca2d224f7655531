package mcpconfig

import (
	"github.com/tailscale/hujson"
)

// Registries holds the addresses of the MCP registries that commands ask: the member "registries" of a file. If it is
// Broken, no registry may be asked: the file may forbid all but its own.
type Registries struct {
	Setting
	// URLs holds the addresses in order. They are not checked.
	URLs []string
}

// readRegistries reads the member "registries". A project's file cannot choose where packages come from.
func (f *configFile) readRegistries(m *hujson.ObjectMember) {
	reason := `"registries" is not heeded: a project's file does not choose where servers come from`
	readSetting(f, "registries", m, reason, &f.Registries, func(r *reading, out *Registries) {
		out.URLs = r.strings("registries", &m.Value)
		if len(out.URLs) == 0 && r.State != Skipped {
			r.skip(r.offset, "it names no registry", `write "registries": ["https://…"]`)
		}
	})
}
