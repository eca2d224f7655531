package interop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
)

func (r *rig) list() []toolbox.Descriptor {
	r.t.Helper()
	tools, err := r.Tools(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return tools
}

// reasons returns the quarantine, a line for each entry. Lines of published tools end in a
// star.
func (r *rig) reasons() []string {
	var all []string
	for _, q := range r.Quarantined() {
		s := fmt.Sprintf("%s: %s", q.Tool, q.Reason)
		if q.Published {
			s += " *"
		}
		all = append(all, s)
	}
	return all
}

func numberedTools(from, to int) []string {
	var names []string
	for i := from; i <= to; i++ {
		names = append(names, fmt.Sprintf("tool_%04d", i))
	}
	return names
}

func TestEndpointListsAllPages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		flags   []string
		pages   int // MaxPages
		want    []string
		asked   int
		reasons []string
	}{
		{"one page", []string{"-tools", "3"}, 0, numberedTools(1, 3), 1, nil},
		{"no tools", nil, 0, []string{}, 1, nil},
		{"four pages", []string{"-tools", "10", "-page", "3"}, 0, numberedTools(1, 10), 4, nil},
		{"a cursor that is empty", []string{"-tools", "3", "-page", "2", "-empty-cursor"}, 0, numberedTools(1, 3), 2, nil},
		{"a cursor again and again", []string{"-tools", "3", "-page", "2", "-loop"}, 0, numberedTools(1, 2), 2,
			[]string{`: tools/list repeats the cursor "from-2": reading stopped after page 2`}},
		{"no end", []string{"-endless"}, 0, []string{}, 1000,
			[]string{": tools/list goes on after 1000 pages: the rest is not read"}},
		{"more pages than may be", []string{"-tools", "10", "-page", "2"}, 3, numberedTools(1, 6), 3,
			[]string{": tools/list goes on after 3 pages: the rest is not read"}},
		{"exactly as many", []string{"-tools", "10", "-page", "2"}, 5, numberedTools(1, 10), 5, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := openFixture(t, &interop.EndpointOptions{MaxPages: c.pages}, append([]string{"-bare", "-no-list-changed"}, c.flags...)...)
			if diff := cmp.Diff(c.want, toolNames(r.list())); diff != "" {
				t.Errorf("tools (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.reasons, r.reasons()); diff != "" {
				t.Errorf("quarantine (-want +got):\n%s", diff)
			}
			r.fence()
			if got := strings.Count(r.methods(), "tools/list"); got != c.asked {
				t.Errorf("asked %d times, want %d", got, c.asked)
			}
			if s := r.Status(); s.Tools != len(c.want) {
				t.Errorf("the status counts %d", s.Tools)
			}
		})
	}
}

func TestEndpointStopsAtTooMuch(t *testing.T) {
	r := openFixture(t, &interop.EndpointOptions{MaxMessage: 5000}, "-bare", "-tools", "100", "-page", "2")
	if n := len(r.list()); n < 4 || n > 20 {
		t.Errorf("%d tools", n)
	}
	if got := strings.Join(r.reasons(), "\n"); got != ": tools/list is over 5000 bytes: the rest is not read" {
		t.Error(got)
	}
}

func TestEndpointQuarantinesBadRows(t *testing.T) {
	r := openFixture(t, nil, "-bare", "-tools", "1", "-badrows")
	if diff := cmp.Diff([]string{"tool_0001", "bad_deep_schema", "bad_header"}, toolNames(r.list())); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	noName := ": the row has no name: "
	want := []string{
		noName + `{"description":"no name","inputSchema":{"type":"object"}}`,
		noName + `{"name":"","inputSchema":{"type":"object"}}`,
		noName + `{"name":42,"inputSchema":{"type":"object"}}`,
		"bad_no_schema: it has no inputSchema",
		"bad_null_schema: its inputSchema is no object: null",
		"bad_array_schema: its inputSchema is no object: []",
		`bad_text_schema: its inputSchema is no object: "object"`,
		`bad_string_type: its inputSchema is not of type "object" ("string")`,
		"bad_deep_schema: the schema is nested deeper than 64 levels *",
		": the row is no object: 42",
		": the row is no object: null",
	}
	got := r.reasons()
	if len(got) > 8 && strings.HasPrefix(got[8], "bad_deep_schema: ") && strings.HasSuffix(got[8], " *") {
		got[8] = want[8] // package schema writes this text
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("quarantine (-want +got):\n%s", diff)
	}
	for _, d := range r.list() {
		if unfit := d.Tool == "bad_deep_schema"; (d.Excluded != "") != unfit {
			t.Errorf("%s: unfit for models: %q", d.Tool, d.Excluded)
		}
	}
}

func TestEndpointLimitsSchemas(t *testing.T) {
	opts := &interop.EndpointOptions{Limits: schema.Limits{Bytes: 100}}
	r := openFixture(t, opts, "-bare", "-tools", "1")
	if d := r.list()[0]; d.Excluded == "" {
		t.Error("a schema beyond the limit is fit for models")
	}
}

func TestEndpointOfTwoToolsWithOneNameTheFirstStands(t *testing.T) {
	r := openFixture(t, nil, "-duplicates")
	tools := r.list()
	var echoes []string
	for _, d := range tools {
		if d.Tool == "echo" {
			echoes = append(echoes, d.Description)
		}
	}
	if !slices.Equal(echoes, []string{"returns the message"}) {
		t.Errorf("%q", echoes)
	}
	if got := r.reasons(); !slices.Equal(got, []string{"echo: the server lists this name twice; the first one stands"}) {
		t.Errorf("%q", got)
	}
}

func TestEndpointDescribesToolsByTheirOwnersBytes(t *testing.T) {
	const row = `{ "name":"a.b" , "x":[1.0,9007199254740993,null],"description":"d\u0041","inputSchema":{"type":"object","z":1,"a":1e400} }`
	f := fixture.File(t, "["+row+"]")
	for era, format := range map[string]string{"legacy": "mcp/legacy", "modern": "mcp/modern"} {
		d := openFixture(t, nil, "-era", era, "-list-file", f).list()[0]
		want := toolbox.Descriptor{
			Name: config.QualifiedName("fx", "a.b"), Description: "dA", Server: "fx", Tool: "a.b",
			Schema: json.RawMessage(`{"type":"object","z":1,"a":1e400}`),
			Wire:   toolbox.Wire{Format: format, JSON: json.RawMessage(row)},
		}
		if diff := cmp.Diff(want, d); diff != "" {
			t.Errorf("%s (-want +got):\n%s", era, diff)
		}
	}
}

func TestEndpointSharesOneListing(t *testing.T) {
	r := openFixture(t, nil, "-no-list-changed", "-hang", "tools/list")
	impatient, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { _, err := r.Tools(impatient); left <- err }()
	r.Wait("recv tools/list")
	lists := make(chan error, 50)
	for range cap(lists) {
		go func() { _, err := r.Tools(context.Background()); lists <- err }()
	}
	leave()
	if err := receiveSoon(t, left, "the one who left"); err != context.Canceled {
		t.Errorf("the one who left got %v", err)
	}
	r.Send("release tools/list")
	for range cap(lists) {
		if err := receiveSoon(t, lists, "the list"); err != nil {
			t.Fatal(err)
		}
	}
	r.list()
	r.fence()
	if got := strings.Count(r.methods(), "tools/list"); got != 1 {
		t.Errorf("asked %d times", got)
	}
}

func TestEndpointListsAgainAfterAFailure(t *testing.T) {
	t.Parallel()
	r := onFixture(t, nil, config.Timeouts{List: brief}, "-no-list-changed", "-hang", "tools/list")
	mustOpen(t, r.Endpoint)
	_, err := r.Tools(t.Context())
	wantFault(t, err, interop.Timeout)
	r.Wait("cancelled ")
	r.Send("release tools/list")
	r.Wait("done release")
	awaitCondition(t, "it is listed", func() bool { _, err := r.Tools(t.Context()); return err == nil })
	wantReady(t, r.Endpoint)
}

func TestEndpointListsAgainWhenTheListChanged(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			heard := make(chan interop.Message, 10)
			opts := &interop.EndpointOptions{Receive: func(_ context.Context, m interop.Message) (json.RawMessage, error) {
				heard <- m
				return nil, nil
			}}
			r := openFixture(t, opts, "-era", era, "-bare", "-tools", "1")
			if era == "modern" {
				r.Wait("listening")
			}
			for _, want := range [][]string{{"tool_0001"}, {"tool_0001", "changed"}, {"tool_0001"}} {
				if diff := cmp.Diff(want, toolNames(r.list())); diff != "" {
					t.Fatalf("tools (-want +got):\n%s", diff)
				}
				r.Send("change")
				if m := receiveSoon(t, heard, "list_changed"); m.Method != "notifications/tools/list_changed" || m.ID != nil || string(m.Era) != era {
					t.Fatalf("heard %+v", m)
				}
			}
		})
	}
}

func TestEndpointDoesNotMissAChangeBeforeItsSubscription(t *testing.T) {
	r := openFixture(t, nil, "-era", "modern", "-bare", "-hang", "subscriptions/listen")
	r.Wait("recv subscriptions/listen")
	stale := toolNames(r.list())
	r.Send("change")
	r.Wait("done change")
	r.Send("release subscriptions/listen")
	r.Wait("listening")
	awaitCondition(t, "the change is listed", func() bool { return len(toolNames(r.list())) == len(stale)+1 })
}

func TestEndpointSubscribesAgainAndListsAnew(t *testing.T) {
	t.Parallel()
	r := openFixture(t, nil, "-era", "modern", "-bare")
	r.Wait("listening")
	r.list()
	r.Send("unlisten")
	r.Wait("unlistened")
	r.Send("change") // no notification is sent
	r.WaitN("listening", 2)
	awaitCondition(t, "the change is listed", func() bool { return len(r.list()) == 1 })
}

// awaitCondition waits for a condition that has no event.
func awaitCondition(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(eventWait); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

func TestEndpointOfAServerWithoutTools(t *testing.T) {
	const noTools = `read line; echo '{ANSWER:1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{%s}}}'
		read line; echo '{ANSWER:2,"error":{"code":-32601,"message":"no such method"}}'; cat >/dev/null`
	e := newEndpoint(t, shellServer(fmt.Sprintf(noTools, `"prompts":{}`)), nil)
	mustOpen(t, e)
	if tools, err := e.Tools(t.Context()); err != nil || len(tools) != 0 {
		t.Errorf("%d tools, %v", len(tools), err)
	}
	e = newEndpoint(t, shellServer(fmt.Sprintf(noTools, `"tools":{}`)), nil)
	mustOpen(t, e)
	_, err := e.Tools(t.Context())
	wantFault(t, err, interop.Protocol)
}

func TestEndpointRefusesListsThatAreNone(t *testing.T) {
	for name, result := range map[string]string{
		"no object": `[]`, "null": `null`, "no tools": `{}`, "tools that are none": `{"tools":{}}`, "null tools": `{"tools":null}`,
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, shellServer(`read line; echo '{ANSWER:1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}'
				read line; echo '{ANSWER:2,"result":`+result+`}'; cat >/dev/null`), nil)
			mustOpen(t, e)
			_, err := e.Tools(t.Context())
			wantFault(t, err, interop.Protocol)
			if p := e.Phase(); p != interop.Ready {
				t.Errorf("phase %s", p)
			}
		})
	}
}
