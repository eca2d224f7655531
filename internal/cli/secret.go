package cli

import (
	"encoding/json"

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
func tellPasted(d mcpconfig.Definition, path string, s streams) {
	for _, p := range secret.InDefinition(d.JSON) {
		s.tell("%s: %s looks like a secret, and stands in %s in plain text; write %s, which takes it from the environment, or ${cmd:pass show …} instead",
			clean(d.ID), clean(p.Where), clean(path), clean(p.Variable))
	}
}
