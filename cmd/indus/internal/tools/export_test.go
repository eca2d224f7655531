package tools

import (
	"encoding/json"

	"github.com/indusagi/indus/cmd/indus/internal/show"
)

// DecodedSize is how much base64 text stands for.
var DecodedSize = decodedSize

// ToolList is the rows that a file of tools holds.
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

// Remarks is what lint prints of the tools of a --json document: what mounting
// makes of them, or what the providers say of them.
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
