package mcpconfig

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/indusagi/indus/mcpconfig/internal/approvals"
)

// ApprovedTool is a tool that somebody lets run unasked in a project.
type ApprovedTool struct {
	// Project is the directory, absolute, its symbolic links resolved.
	Project string `json:"project"`
	// Tool is what the tool is called there: "bash", "github__create_issue".
	Tool string `json:"tool"`
	// Call is the one call that is approved, as a person was shown it; "" is any.
	Call string `json:"call,omitempty"`
	// Fingerprint is of all that the approval holds on to: what the tool says of itself, what its server runs, the
	// whole call where there is one.
	Fingerprint string `json:"fingerprint"`
	// At is when, in UTC.
	At time.Time `json:"at"`
}

// ApproveTools remembers tools in tool-approvals.json of [StateDir], all or, with an error, none. At is set to now.
//
// It may be called by several processes at once.
func ApproveTools(o *Options, tools ...ApprovedTool) error {
	for i := range tools {
		if tools[i].Project == "" || tools[i].Tool == "" || tools[i].Fingerprint == "" {
			return errors.New("approve: a tool needs its project, its name and its fingerprint")
		}
		tools[i].At = time.Now().UTC().Round(time.Second)
	}
	return newPlace(o).toolStore().Change(approvals.Approve, tools...)
}

// RevokeTools takes approvals back, whatever the tools are by now. That there is none is no error.
func RevokeTools(o *Options, tools ...ApprovedTool) error {
	return newPlace(o).toolStore().Change(approvals.Revoke, tools...)
}

// ApprovedTools are all that hold, by project and tool. A file that cannot be trusted or read is an error, and no file is none.
func ApprovedTools(o *Options) ([]ApprovedTool, error) {
	list, err := newPlace(o).toolStore().Read()
	if err != nil {
		return nil, fmt.Errorf("approvals: %w", err)
	}
	return list, nil
}

func (p *readContext) toolStore() approvals.Store[ApprovedTool] {
	compare := func(a, b ApprovedTool) int {
		return cmp.Or(cmp.Compare(a.Project, b.Project), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Call, b.Call))
	}
	return approvals.Store[ApprovedTool]{Dir: p.State, Name: "tool-approvals.json", Compare: compare}
}
