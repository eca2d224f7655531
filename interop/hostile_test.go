package interop_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
)

// If one tool would make clients refuse a whole list, the other tools are not lost with
// it.
func TestAToolThatClientsRefuseIsReported(t *testing.T) {
	rows := `[{"name":"good","inputSchema":{"type":"object"}},
		{"name":"number","description":5,"inputSchema":{"type":"object"}},
		{"name":"hints","annotations":"x","inputSchema":{"type":"object"}},
		{"name":"props","inputSchema":{"type":"object","properties":5}},
		{"name":"bytes","description":"` + "\xff" + `","inputSchema":{"type":"object"}}]`
	f := fixture.New(t, "-list-file", fixture.File(t, rows))
	e := interop.NewEndpoint(config.Server{ID: "s", Transport: config.Stdio{Command: f.Path, Args: f.Args}}, nil)
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

// A reply that no strict reader could read reaches no client, by any transport. If no
// reader can match its id to a call, the call fails at once.
func TestUnreadableAnswersAreFaultsAtOnce(t *testing.T) {
	t.Parallel()
	bad := `{"content":[{"type":"text","text":"` + "\xff\xfe" + `"}]}`
	file := fixture.File(t, bad)
	for name, of := range map[string]func() config.Server{
		"stdio": func() config.Server {
			f := fixture.New(t, "-fidelity-file", file)
			return config.Server{Transport: config.Stdio{Command: f.Path, Args: f.Args}}
		},
		"HTTP modern": func() config.Server {
			return config.Server{Transport: config.HTTP{URL: fixture.New(t, "-fidelity-file", file).HTTP()}}
		},
		"HTTP legacy": func() config.Server {
			return config.Server{Transport: config.HTTP{URL: fixture.New(t, "-era", "legacy", "-sse-answers", "-fidelity-file", file).HTTP()}}
		},
		"HTTP+SSE": func() config.Server {
			return config.Server{Transport: config.SSE{URL: fixture.New(t, "-sse", "-fidelity-file", file).HTTP()}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := of()
			server.ID, server.Timeouts = "s", config.Timeouts{Call: -1, Total: -1}
			m := interop.Mount(t.Context(), []config.Server{server}, nil)
			defer m.Close()
			do := func(tool, args string) error {
				_, err := m.Box.Do(t.Context(), toolbox.Call{Name: "s__" + tool, Input: json.RawMessage(args)})
				return err
			}
			calls := map[string]string{"fidelity": "{}"}
			if name == "stdio" {
				const answer = `{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{}}`
				calls["say"] = `{"silent":true,"lines":["\ufeff` + answer + `"]}`
				calls["say "] = `{"silent":true,"lines":["[{\"jsonrpc\":\"2.0\",\"id\":-1,\"result\":{}},` + answer + `]"]}`
			}
			for tool, args := range calls {
				var fault *interop.Fault
				if err := do(strings.TrimSpace(tool), args); !errors.As(err, &fault) || fault.Kind != interop.Protocol {
					t.Errorf("%s %s: %v, want a protocol fault", tool, args, err)
				}
			}
			if err := do("echo", `{"message":"still there"}`); err != nil {
				t.Error(err)
			}
		})
	}
}

// A result with more pieces than can be listed is one piece, and none is lost.
func TestACrowdedResultIsOneBlock(t *testing.T) {
	content := "[0" + strings.Repeat(",0", 100_001) + "]"
	f := fixture.New(t, "-fidelity-file", fixture.File(t, `{"content":`+content+`}`))
	e := interop.NewEndpoint(config.Server{ID: "s", Transport: config.Stdio{Command: f.Path, Args: f.Args}}, nil)
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
