package mcpconfig

import (
	"path/filepath"

	"github.com/tailscale/hujson"
)

// textValue is a text of the file with its variables replaced, and where its parts come from.
type textValue struct {
	text    string
	raw     string  // the text of the file
	fetches []fetch // the ${file:…} and ${cmd:…} in it
	fetched bool    // their values are in the text; otherwise they stay as they are
	derived bool    // a part is not written in the row: see isWrittenOut
	placed  bool    // the text is from the file's ${workspaceFolder}, and has its form since then
}

// pending reports whether a part has to be fetched before the text is known.
func (v textValue) pending() bool { return len(v.fetches) > 0 && !v.fetched }

// as returns the value with another form of its text.
func (v textValue) as(text string) textValue {
	v.placed = v.placed && text == v.text
	v.text = text
	return v
}

// valuedRow is a row, or another part of the file, of which all variables are replaced. The values that have to be
// fetched stay as they are unless fetched returns them.
type valuedRow struct {
	typedRow // a copy, to which the findings about values are added
	*site
	fetched func(fetch) fetchResult // nil: values to fetch stay as they are
	budget  *int                    // the rest of maxExpand

	command, dir textValue
	args         []textValue
	usedNames    []string // names of the variables and headers that are used
	fetches      []fetch  // the fetches before it starts
	pinned       []fetch  // the fetches that decide the command line or the address
	files        []RowFile
	refused      string // why the file may not have "single"
}

// pair is an entry of "env" or "headers".
type pair struct {
	name  string
	value textValue
}

// newPart begins to read a part of the file that is not a row. about names it in notes.
func newPart(about string, offset int, at *site, budget *int) *valuedRow {
	raw := &rawRow{at: offset, fields: map[string]*hujson.Value{}}
	return &valuedRow{typedRow: typedRow{rawRow: raw, findings: findings{about: about}}, site: at, budget: budget}
}

// projectOf returns the project from which a path takes a file. It is "" if the user wrote the path out.
func (s *site) projectOf(path textValue) string {
	if s.isWrittenOut(path) {
		return ""
	}
	return s.rootOf(path.text)
}

// isWrittenOut reports whether the user wrote a path out: it is absolute, and no part of it depends on the working
// directory, the environment or another file.
func (s *site) isWrittenOut(path textValue) bool {
	return !s.inProject() && filepath.IsAbs(path.text) && !path.derived
}

// fullPath returns the absolute path for a value of the row.
func (s *site) fullPath(v textValue) textValue {
	written := s.tilde(v.text)
	path := v.as(s.absolute(written))
	path.derived = v.derived || written != path.text
	return path
}
