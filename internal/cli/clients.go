package cli

import (
	"encoding/json"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/schema"
)

// clientProfile is who reads a list of tools whole or not at all: clients, which lose
// every tool of a server for one. No schema.Profile has it, because it is about tools
// and lists, and what it refuses no model is shown.
const clientProfile = "client"

// sourceTool is where it says what it reads.
const sourceTool = "https://github.com/modelcontextprotocol/typescript-sdk/blob/v1.x/src/types.ts"

// checkClients finds what makes a client refuse the list that a tool is in. Paths
// lead into the tool.
func checkClients(tool json.RawMessage) (found []finding) {
	if len(tool) == 0 { // it is no server's
		return nil
	}
	_, flaws := protocol.Mend(tool, true)
	for _, f := range flaws {
		who := ": clients refuse the whole list"
		if f.Legacy {
			who = ": legacy clients refuse the whole list"
		}
		found = append(found, finding{clientProfile, schema.Finding{Path: f.Path, Rule: schema.RuleForm, Message: f.Why + who, Source: sourceTool, Class: schema.Documented}})
	}
	return found
}
