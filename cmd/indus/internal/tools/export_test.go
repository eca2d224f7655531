package tools

import (
	"encoding/json"

	"github.com/indusagi/indus/cmd/indus/internal/show"
)

// ToolHelp returns the help of a tool on a terminal of width columns.
var ToolHelp = toolHelp

// ToolList returns the rows in a file of tools.
func ToolList(raw []byte) ([]string, error) {
	l, err := readToolList("f.json", raw)
	if err != nil {
		return nil, err
	}
	var rows []string
	for _, row := range l.rows {
		rows = append(rows, string(row))
	}
	return rows, nil
}

// Remarks returns the output of lint for the tools of a --json document: on providers if asked, else on mounting.
func Remarks(tools string, asked bool) (string, error) {
	var all []ToolReport
	if err := json.Unmarshal([]byte(tools), &all); err != nil {
		return "", err
	}
	var p show.Page
	writeRemarks(&p, all, func(t *ToolReport) remarks {
		if asked {
			return providerRemarks(t, true, false)
		}
		return mountRemarks(t, false)
	})
	return p.String(), nil
}
