package mcpconfig

import (
	"github.com/tailscale/hujson"
)

// Settings are the members of a file beside its servers and views. Each of them is nil if no file has it.
type Settings struct {
	// Auth holds how clients of indus serve authenticate.
	Auth *Auth
	// Policy names the policies of indus serve.
	Policy *Policy
	// Audit holds where indus serve records requests.
	Audit *Audit
	// Approvals holds how calls to indus serve wait for a person.
	Approvals *CallApprovals
	// Cluster holds where several indus serve keep shared state.
	Cluster *Cluster
	// Registries holds the registries that commands ask.
	Registries *Registries
}

// Registries holds the addresses of the MCP registries that commands ask: the member "registries" of a file. If it is
// Broken, no registry may be asked: the file may forbid all but its own.
type Registries struct {
	Setting
	// URLs holds the addresses in order. They are not checked.
	URLs []string
}

// readRegistries reads the member "registries". A project's file cannot choose where packages come from.
func readRegistries(r *valuedRow, v *hujson.Value, out *Registries) {
	out.URLs = r.strings("registries", v)
	if len(out.URLs) == 0 && !r.skipped {
		r.skip(r.at, "it names no registry", `write "registries": ["https://…"]`)
	}
}
