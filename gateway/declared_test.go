//lint:file-ignore SA1019 sampling is deprecated, and there for as long as its peers are

package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// selectiveServer is a server that lists some entries only to clients that declare elicitation. It lists one tool
// differently to them.
func selectiveServer() *script {
	questions := func(m interop.Message) bool {
		return m.Client != nil && bytes.Contains(m.Client.Capabilities, []byte(`"elicitation"`))
	}
	lists := func(all, special string) func(interop.Message) (string, error) {
		return func(m interop.Message) (string, error) {
			if questions(m) {
				return special, nil
			}
			return all, nil
		}
	}
	const schema = `,"inputSchema":{"type":"object"}}`
	return &script{answers: map[string]func(interop.Message) (string, error){
		"server/discover": discovers(`{"tools":{"listChanged":true},"prompts":{},"resources":{}}`),
		"tools/list": lists(`{"tools":[{"name":"echo","description":"plain"`+schema+`]}`,
			`{"tools":[{"name":"echo","description":"asks"`+schema+`,{"name":"ask"`+schema+`,{"name":"denied"`+schema+`]}`),
		"prompts/list":             lists(`{"prompts":[]}`, `{"prompts":[{"name":"form"}]}`),
		"resources/list":           lists(`{"resources":[{"uri":"x:1","name":"1"}]}`, `{"resources":[{"uri":"x:1","name":"1"},{"uri":"x:2","name":"2"}]}`),
		"resources/templates/list": replyWith(`{"resourceTemplates":[]}`),
		"prompts/get":              replyWith(`{"messages":[]}`),
		"tools/call": func(m interop.Message) (string, error) {
			if !questions(m) {
				return `{"content":[{"type":"text","text":"not for you"}],"isError":true}`, nil
			}
			return `{"content":[{"type":"text","text":"done"}]}`, nil
		},
	}}
}

func asking() *mcp.ClientOptions {
	return &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "decline"}, nil
	}}
}

// texts returns the names of the tools, prompts and resources that a client is listed.
func texts(t *testing.T, s *mcp.ClientSession) (all []string) {
	t.Helper()
	for tool, err := range s.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.TrimSpace(tool.Name+" "+tool.Description))
	}
	for prompt, err := range s.Prompts(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, prompt.Name)
	}
	for resource, err := range s.Resources(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, resource.URI)
	}
	return all
}

// Each client sees the lists that the server has for clients with the same capabilities. A client that can be asked
// misses nothing. A client that cannot be asked sees nothing that would fail for it. The order of the clients does not
// matter.
func TestListsAreByWhatClientsDeclare(t *testing.T) {
	t.Parallel()
	for _, server := range []interop.Era{interop.Legacy, interop.Modern} {
		for _, client := range []interop.Era{interop.Legacy, interop.Modern} {
			for _, at := range []struct {
				path, transparent, prefix string
				denied                    []string
			}{{path: "/mcp", prefix: "s__"}, {path: "/mcp/s"}, {path: "/mcp/@v", prefix: "s__"}, {path: "/mcp", transparent: "s", denied: []string{"denied"}}} {
				t.Run(string(server)+" server, "+string(client)+" client, "+at.path+at.transparent, func(t *testing.T) {
					t.Parallel()
					conf := config.Server{ID: "s", Era: server}
					if at.transparent == "" {
						conf.Tools.Deny = []string{"denied"}
					}
					g := scripts{"s": selectiveServer()}.open(t, gateway.Options{Transparent: at.transparent, Views: map[string]gateway.View{"v": {}}}, conf)
					if err := g.Attached().Fleet.Settle(t.Context()); err != nil {
						t.Fatal(err)
					}
					of := func(o *mcp.ClientOptions) (*mcp.ClientSession, []string) {
						s := dialWith(t, g, at.path, client, o)
						return s, texts(t, s)
					}
					plain := []string{at.prefix + "echo plain", "x:1"}
					_, before := of(nil)
					capable, special := of(asking())
					_, after := of(nil)
					_, again := of(asking())
					want := slices.Concat([]string{at.prefix + "echo asks", at.prefix + "ask"}, at.denied, []string{at.prefix + "form", "x:1", "x:2"})
					for _, c := range []struct{ want, got []string }{{plain, before}, {want, special}, {plain, after}, {want, again}} {
						if diff := cmp.Diff(c.want, c.got); diff != "" {
							t.Error(diff)
						}
					}
					r, err := capable.CallTool(t.Context(), &mcp.CallToolParams{Name: at.prefix + "ask"})
					if err != nil || r.IsError {
						t.Errorf("%v %v", r, err)
					}
					if _, err := capable.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: at.prefix + "form"}); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// A client knows a tool from before the gateway was restarted, and calls it without listing it again.
func TestCallOfAToolThatIsListedToSome(t *testing.T) {
	t.Parallel()
	g := scripts{"s": selectiveServer()}.open(t, gateway.Options{}, config.Server{ID: "s", Era: interop.Legacy})
	if err := g.Attached().Fleet.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	capable := dialWith(t, g, "/mcp", interop.Legacy, asking())
	var calling sync.WaitGroup
	for range 10 { // calls that come while the first call waits for the list wait too
		calling.Go(func() {
			if r, err := capable.CallTool(t.Context(), &mcp.CallToolParams{Name: "s__ask"}); err != nil || r.IsError {
				t.Errorf("%v %v", r, err)
			}
		})
	}
	calling.Wait()
	if r, err := dial(t, g, "/mcp", interop.Legacy).CallTool(t.Context(), &mcp.CallToolParams{Name: "s__ask"}); err == nil && !r.IsError {
		t.Error("a client that cannot be asked is served as one that can")
	}
}

// Tools that are listed only to some clients are in the ledger too. If changes are held, only approved versions of them
// are listed.
func TestWhatIsListedToSomeIsGuarded(t *testing.T) {
	t.Parallel()
	s := selectiveServer()
	o := scripts{"s": s}.options(t)
	o.Policy = config.HoldChanges
	g := gateway.New(t.Context(), []config.Server{{ID: "s", Era: interop.Modern}}, &gateway.Options{Ledger: o})
	t.Cleanup(g.Close)
	if err := g.Attached().Fleet.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	client := dialWith(t, g, "/mcp", interop.Legacy, asking())
	want := []string{"s__echo plain", "s__ask", "s__denied", "s__form", "x:1", "x:2"} // the common version of echo was approved
	if diff := cmp.Diff(want, texts(t, client)); diff != "" {
		t.Error(diff)
	}
	if l := g.Attached().Ledger(); len(l.Snapshot().Live) != 3 {
		t.Errorf("%+v", l.Snapshot().Live)
	}
}

// A tool that leaves the common list does not become a tool for some clients, although an older list for some clients
// has it.
func TestWhatIsGoneIsListedToNobody(t *testing.T) {
	t.Parallel()
	const row = `{"name":%q,"inputSchema":{"type":"object"}}`
	gone := atomic.Bool{}
	s := &script{answers: map[string]func(interop.Message) (string, error){
		"server/discover": discovers(`{"tools":{"listChanged":true}}`),
		"tools/list": func(m interop.Message) (string, error) {
			rows := []string{fmt.Sprintf(row, "stays")}
			if !gone.Load() {
				rows = append(rows, fmt.Sprintf(row, "goes"))
			}
			if m.Client != nil && bytes.Contains(m.Client.Capabilities, []byte(`"elicitation"`)) {
				rows = append(rows, fmt.Sprintf(row, "asks"))
			}
			return `{"tools":[` + strings.Join(rows, ",") + `]}`, nil
		},
	}}
	g := scripts{"s": s}.open(t, gateway.Options{}, config.Server{ID: "s", Era: interop.Legacy})
	fleet := g.Attached().Fleet
	if err := fleet.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	samples := &mcp.ClientOptions{CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
		return nil, errors.New("no")
	}}
	for _, o := range []*mcp.ClientOptions{asking(), samples} { // each client has its own connection
		if _, err := dialWith(t, g, "/mcp", interop.Legacy, o).ListTools(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	special := func() (names []string) {
		s := fleet.Snapshot("")
		for _, kind := range s.Kinds {
			for _, tool := range kind.Tools {
				forAll := slices.ContainsFunc(s.Tools, func(o toolbox.Descriptor) bool { return o.Name == tool.Name })
				if !forAll && !slices.Contains(names, tool.Tool) {
					names = append(names, tool.Tool)
				}
			}
		}
		return names
	}
	if diff := cmp.Diff([]string{"asks"}, special()); diff != "" {
		t.Fatal(diff)
	}
	listed := make(chan struct{}, 10)
	defer fleet.Watch(func() { listed <- struct{}{} })()
	gone.Store(true)
	s.senders[1](interop.Message{Method: "notifications/tools/list_changed"}) // on the connection of one client only
	for len(fleet.Snapshot("").Tools) > 1 {
		<-listed
	}
	if diff := cmp.Diff([]string{"asks"}, special()); diff != "" {
		t.Error(diff)
	}
}
