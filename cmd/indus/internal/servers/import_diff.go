package servers

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/secret"
)

// maxDiff bounds the lines of a diff, because a row may have any number of variables.
const maxDiff = 20

// reportKept reports why a server was not imported, and the flags that import it.
func reportKept(server importedServer, source string, s show.Streams) {
	id := server.Server
	if server.There == nil {
		s.Reportf("%s: server %q is left out: another file of %s goes first", server.File, id, server.Client)
		return
	}
	prefix, old := server.Client+"-", cmp.Or(server.Was, server.Server)
	switch {
	case server.Client == "indus": // a file of indus, or of no particular client
		prefix = "P"
	case source == allClients:
		prefix, old = "{client}-", server.Client+"/"+old
	}
	alternative := fmt.Sprintf("--prefix %s or --rename %s=NEW", show.ShellWord(prefix), show.ShellWord(old))
	if server.Becomes == "lost" {
		s.Reportf("%s: server %q is left out: another of that name is imported first; %s takes this one over as well",
			server.File, id, alternative)
	} else {
		s.Reportf("kept the server %q that is there already; --force replaces it, and %s takes this one over as well", id,
			alternative)
	}
	for _, d := range server.diff[:min(len(server.diff), maxDiff)] {
		s.Reportf("  %s", d)
	}
	if more := len(server.diff) - maxDiff; more > 0 {
		s.Reportf("  and %s more", show.Count(more, "line"))
	}
}

// differingMembers returns a diff of the members of two rows, with secrets hidden. If they are equal, it is empty.
func differingMembers(existing, imported json.RawMessage) []string {
	var out []string
	a, b := flatMembers("", existing), flatMembers("", imported)
	shownA, shownB := flatMembers("", secret.Definition(existing)), flatMembers("", secret.Definition(imported))
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		x, inA := a[key]
		y, inB := b[key]
		if inA && inB && x != y && shownA[key] == shownB[key] {
			out = append(out, "~ "+key+": another secret")
			continue
		}
		if inA && x != y {
			out = append(out, "- "+key+": "+shownA[key])
		}
		if inB && x != y {
			out = append(out, "+ "+key+": "+shownB[key])
		}
	}
	return out
}

// flatMembers returns the members of a row and of its nested objects as JSON, by path.
func flatMembers(path string, raw json.RawMessage) map[string]string {
	out := map[string]string{}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil || object == nil {
		var compact bytes.Buffer
		if json.Compact(&compact, raw) == nil {
			out[path] = compact.String()
		}
		return out
	}
	for name, value := range object {
		below := name
		if path != "" {
			below = path + "." + name
		}
		maps.Copy(out, flatMembers(below, value))
	}
	return out
}
