package mcpconfig

import (
	"github.com/tailscale/hujson"
)

// Registries holds the addresses of the MCP registries that commands ask: the member "registries" of a file.
type Registries struct {
	// URLs holds the addresses in order. They are not checked.
	URLs []string
	// File and Line are the position of "registries".
	File string
	Line int
	// Broken is set if "registries" cannot be read, or if a file of the user that may have it cannot be read. Then no
	// registry may be asked: the file may forbid all but its own. A note has the reason.
	Broken bool
}

// readRegistries reads the member "registries". A project's file cannot choose where packages come from.
func (f *configFile) readRegistries(m *hujson.ObjectMember) {
	reason := `"registries" is not heeded: a project's file does not choose where servers come from`
	readSetting(f, "registries", m, reason, &f.registries, func(r *reading, out *Registries) {
		out.URLs = r.strings("registries", &m.Value)
		if len(out.URLs) == 0 && r.State != Skipped {
			r.skip(r.offset, "it names no registry", `write "registries": ["https://…"]`)
		}
	})
}
