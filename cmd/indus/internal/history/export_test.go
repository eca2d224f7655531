package history

import (
	"encoding/json"

	"github.com/indusagi/indus/cmd/indus/internal/describe"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/toolbox"
)

// InWords returns the changes from one tool object to another.
func InWords(before, after string) string {
	entry := func(tool string) ledger.Entry {
		c := &ledger.Capability{Name: "s__a", Server: "s", Tool: "a", Wire: toolbox.Wire{JSON: json.RawMessage(tool)}}
		return ledger.Entry{Op: ledger.Enroll, Server: "s", Tool: "a", Name: "s__a", Capability: c, Sum: tool}
	}
	return describe.ChangeLines(describe.Differences(entry(before), entry(after)))
}

// LiveTools exports liveTools.
func LiveTools(entries []ledger.Entry) []ledger.Entry { return liveTools(entries) }
