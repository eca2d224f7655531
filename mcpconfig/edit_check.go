package mcpconfig

import (
	"strings"

	"github.com/tailscale/hujson"
)

// Check is what reading says about the row of an id that counts, as it stands in
// the text now: what is wrong with it, and apart from that what may be meant so: variables
// that are only not set here, and paths that are relative to a directory with nothing in
// it. Nothing is run.
func (e *Edit) Check(id string, o *Options) (wrong, advice []Note) {
	rows := e.of(id)
	if len(rows) == 0 {
		return nil, nil
	}
	r := rows[len(rows)-1]
	var key *hujson.Value
	if object, ok := r.in.Value.(*hujson.Object); ok {
		key = &object.Members[r.at].Name
	}
	f := &file{
		source: &source{path: e.path, scope: Explicit, approved: true},
		place:  newPlace(o), doc: e.doc, budget: maxExpand, later: maxExpand,
	}
	f.reading(entry{n: 1, key: key, v: r.body}, nil)
	for _, n := range f.sorted() {
		if strings.HasSuffix(n.Reason, " is not set") || n.State == "" && strings.HasSuffix(n.Reason, alone) {
			advice = append(advice, n)
		} else {
			wrong = append(wrong, n)
		}
	}
	return wrong, advice
}
