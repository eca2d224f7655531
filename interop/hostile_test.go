package interop_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/internal/fixture"
	"github.com/indusagi/indus/interop"
)

// One tool that clients would refuse a whole list for does not take the others with it.
func TestAToolThatClientsRefuseIsReported(t *testing.T) {
	rows := `[{"name":"good","inputSchema":{"type":"object"}},
		{"name":"number","description":5,"inputSchema":{"type":"object"}},
		{"name":"hints","annotations":"x","inputSchema":{"type":"object"}},
		{"name":"props","inputSchema":{"type":"object","properties":5}},
		{"name":"bytes","description":"` + "\xff" + `","inputSchema":{"type":"object"}}]`
	f := fixture.New(t, "-list-file", fixture.File(t, rows))
	e := interop.NewEndpoint(interop.Server{ID: "s", Transport: interop.Stdio{Command: f.Path, Args: f.Args}}, nil)
	defer e.Close()
	if err := e.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	tools, err := e.Tools(t.Context())
	if err != nil || len(tools) != 4 {
		t.Errorf("tools %v, %v: want all but the one that is no UTF-8", tools, err)
	}
	var found []string
	for _, q := range e.Quarantined() {
		found = append(found, fmt.Sprint(q.Tool, " ", q.Mended, " ", q.Reason))
	}
	want := []string{"number true description is of a wrong type: 5", `hints true annotations is of a wrong type: "x"`,
		"props true inputSchema.properties is of a wrong type: 5", "bytes false it is not UTF-8"}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Error(diff)
	}
}

// A result in more pieces than can be listed is one piece, and none is lost.
func TestACrowdedResultIsOneBlock(t *testing.T) {
	content := "[0" + strings.Repeat(",0", 100_001) + "]"
	f := fixture.New(t, "-fidelity-file", fixture.File(t, `{"content":`+content+`}`))
	e := interop.NewEndpoint(interop.Server{ID: "s", Transport: interop.Stdio{Command: f.Path, Args: f.Args}}, nil)
	defer e.Close()
	if err := e.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, err := e.Invoke(t.Context(), "fidelity", json.RawMessage(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	if blocks := r.Blocks(); len(blocks) != 1 || string(blocks[0].JSON) != content {
		t.Errorf("%d blocks", len(blocks))
	}
}
