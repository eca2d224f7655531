package interop_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/fixture"
	"github.com/indusagi/indus/interop"
)

// One tool that clients would refuse a whole list for does not take the others with it.
func TestAToolThatClientsRefuseIsQuarantined(t *testing.T) {
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
	if err != nil || len(tools) != 1 || tools[0].Tool != "good" {
		t.Errorf("tools %v, %v: want the good one", tools, err)
	}
	var names []string
	for _, q := range e.Quarantined() {
		names = append(names, q.Tool)
		if q.Reason == "" {
			t.Errorf("%s has no reason", q.Tool)
		}
	}
	if got := strings.Join(names, " "); got != "number hints props bytes" {
		t.Errorf("quarantined: %s", got)
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
