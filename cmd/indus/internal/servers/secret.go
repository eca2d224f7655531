package servers

import (
	"encoding/json"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/secret"
	"github.com/indusagi/indus/mcpconfig"
)

func jsonString(raw json.RawMessage) (string, bool) {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

// tellPasted warns of values that look like secrets in plain text, without showing
// them, and says how to keep them out of the file.
func tellPasted(d mcpconfig.Definition, path string, s show.Streams) {
	for _, p := range secret.InDefinition(d.JSON) {
		s.Reportf("%s: %s looks like a secret, and stands in %s in plain text; write %s, which takes it from the environment, or ${cmd:pass show …} instead",
			show.Clean(d.ID), show.Clean(p.Where), show.Clean(path), show.Clean(p.Variable))
	}
}
