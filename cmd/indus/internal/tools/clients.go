package tools

import (
	"encoding/json"

	"github.com/indusagi/indus/cmd/indus/internal/command"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/schema"
)

// sourceTool is where it says what it reads.
const sourceTool = "https://github.com/modelcontextprotocol/typescript-sdk/blob/v1.x/src/types.ts"

// checkClients finds what makes a client refuse the list that a tool is in. Paths
// lead into the tool.
func checkClients(tool json.RawMessage) (found []Finding) {
	if len(tool) == 0 { // it is no server's
		return nil
	}
	_, flaws := protocol.Mend(tool, true)
	for _, f := range flaws {
		who := ": clients refuse the whole list"
		if f.Legacy {
			who = ": legacy clients refuse the whole list"
		}
		found = append(found, Finding{command.ClientProfile, schema.Finding{Path: f.Path, Rule: schema.RuleForm, Message: f.Why + who, Source: sourceTool, Class: schema.Documented}})
	}
	return found
}
