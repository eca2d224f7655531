package interop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/interop/interoptest"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
	"github.com/indusagi/indus/toolbox/catalog"
)

// counters returns a server with n tools, each of which returns its own number.
func counters(t *testing.T, id string, n int) *interoptest.Server {
	var tools []toolbox.Tool
	for i := range n {
		tools = append(tools, toolbox.Define(fmt.Sprintf("count_%03d", i), fmt.Sprintf("Counts the %s of shelf %03d.", id, i),
			func(_ context.Context, in struct {
				More int `json:"more"`
			}) (int, error) {
				return i + in.More, nil
			}))
	}
	s := interoptest.NewServer(id, tools...)
	t.Cleanup(s.Close)
	return s
}

// mountCounters mounts 300 tools of three servers.
func mountCounters(t *testing.T, opts *interop.MountOptions) *interop.Mounted {
	servers := []*interoptest.Server{counters(t, "apples", 100), counters(t, "pears", 100), counters(t, "plums", 100)}
	var configs []config.Server
	for _, s := range servers {
		configs = append(configs, s.Config())
	}
	opts.Endpoint = interoptest.Endpoints(servers...)
	m := interop.Mount(t.Context(), configs, opts)
	t.Cleanup(m.Close)
	return m
}

func modelTools(box *toolbox.Box) (names []string) {
	for _, d := range box.Descriptors() {
		names = append(names, d.Name)
	}
	return names
}

// With a catalog over a mount, a model sees four tools in place of 300. They find and run the others.
func TestCatalogOverAMount(t *testing.T) {
	all := mountCounters(t, &interop.MountOptions{Profile: schema.ProfileNamed("openai")})
	if len(all.Box.Descriptors()) != 300 || all.Box.Findings() == nil {
		t.Fatalf("without a gateway there are %d tools, and of their number is said %v", len(all.Box.Descriptors()), all.Box.Findings())
	}
	var called []string
	m := mountCounters(t, &interop.MountOptions{
		Around: []func(toolbox.Do) toolbox.Do{func(next toolbox.Do) toolbox.Do {
			return func(ctx context.Context, c toolbox.Call) (*toolbox.Result, error) {
				called = append(called, c.Name)
				return next(ctx, c)
			}
		}},
	})
	box := toolbox.NewBox(&toolbox.BoxOptions{Profile: schema.ProfileNamed("openai")}, catalog.Over(m.Box, &catalog.Options{Prefix: "ops_"}))
	if got := modelTools(box); !slices.Equal(got, []string{"ops_search", "ops_schema", "ops_call", "ops_batch"}) {
		t.Fatalf("a model is shown %q", got)
	}
	if found := box.Findings(); found != nil {
		t.Errorf("of four tools is said %v", found)
	}
	for _, d := range box.Descriptors() {
		if found := schema.Check(d.Parameters, schema.ProfileNamed("openai")); found != nil {
			t.Errorf("%s: %v", d.Name, found)
		}
	}
	run := func(name, input string) string {
		t.Helper()
		out := box.Run(t.Context(), toolbox.Call{Name: name, Input: json.RawMessage(input)})
		return out.Text()
	}
	if text := run("ops_search", `{"query":"how many pears are on shelf 042"}`); !strings.Contains(text, `"pears__count_042"`) {
		t.Error(text)
	}
	if text := run("ops_call", `{"operation":"pears__count_042","input":{"more":1}}`); text != "43" {
		t.Error(text)
	}
	// The catalog validates: a call that does not match the schema reaches no server, and the model
	// receives a correction.
	if text := run("ops_call", `{"operation":"pears__count_042","input":{"mroe":1}}`); !strings.Contains(text, "INVALID_INPUT") || !strings.Contains(text, "more") {
		t.Error(text)
	}
	run("ops_batch", `{"calls":[{"operation":"plums__count_007","input":{"more":0}}]}`)
	if diff := cmp.Diff([]string{"pears__count_042", "plums__count_007"}, called); diff != "" {
		t.Errorf("Around heard of other calls (-want +got):\n%s", diff)
	}
}

// The catalog is live: tools that a reload removes cannot be found any more, and the four stay.
func TestCatalogOverAMountIsLive(t *testing.T) {
	m := mountCounters(t, &interop.MountOptions{})
	box := toolbox.NewBox(nil, catalog.Over(m.Box, nil))
	before := modelTools(box)
	m.Fleet.Apply(slices.DeleteFunc(m.Fleet.Servers(), func(s config.Server) bool { return s.ID == "pears" }))
	out := box.Run(t.Context(), toolbox.Call{Name: "call", Input: json.RawMessage(`{"operation":"pears__count_042","input":{"more":1}}`)})
	if !strings.Contains(out.Text(), "NOT_FOUND") {
		t.Error(out.Text())
	}
	if diff := cmp.Diff(before, modelTools(box)); diff != "" {
		t.Errorf("the four changed (-want +got):\n%s", diff)
	}
}

// With Unvalidated the server checks the arguments, behind the catalog too.
func TestCatalogOverAMountUnvalidated(t *testing.T) {
	const row = `{"name":"t","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}`
	m, s := mountRow(t, row, &interop.MountOptions{})
	box := toolbox.NewBox(&toolbox.BoxOptions{Unvalidated: true}, catalog.Over(m.Box, &catalog.Options{Unvalidated: true}))
	out := box.Run(t.Context(), toolbox.Call{Name: "call", Input: json.RawMessage(`{"operation":"a__t","input":{"n":"one"}}`)})
	if out.IsError || s.requestCount("call t") != 1 {
		t.Errorf("it was left to the server, and %s", out.Text())
	}
}
