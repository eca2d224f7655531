package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/indusagi/indus/operation"
	"github.com/indusagi/indus/operation/bridge"
	"github.com/indusagi/indus/toolbox"
)

const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

// toolCall is a call of a caller with the expected answer.
type toolCall struct {
	tool string
	args object
	want string
	bad  bool
}

func (a toolCall) check(t *testing.T, s *mcp.ClientSession) {
	t.Helper()
	got, bad := use(t, s, a.tool, a.args)
	if diff := cmp.Diff(a.want, got); diff != "" || bad != a.bad {
		t.Errorf("%s %v: isError %t, -want +got:\n%s", a.tool, a.args, bad, diff)
	}
}

const weatherFound = `{"name":"weather/today","description":"The weather of a city.","kind":"query","parameters":"(city: string)"}`

// readerCalls returns the calls that every caller with weather:read may make.
func readerCalls(who string) []toolCall {
	return []toolCall{
		{tool: "search", args: object{"query": "What about today?", "limit": 1}, want: `{"operations":[` + weatherFound + `]}`},
		{tool: "schema", args: object{"operation": "weather/today"}, want: `{"name":"weather/today","namespace":"weather","description":"The weather of a city. It may rain.","kind":"query","visibility":"external",` +
			`"input":` + city + `,"output":{"type":"object"},"errors":[{"code":"NO_SUCH_CITY","description":"Nobody knows it.","retryable":true}],"access":{"scopesAll":["weather:read"]}}`},
		{tool: "call", args: object{"operation": "weather/today", "input": object{"city": "Ulm"}}, want: `{"for":"` + who + `","sky":"rain"}`},
		{tool: "call", args: object{"operation": "weather/today", "input": object{"city": "Oz"}}, bad: true,
			want: `{"code":"NO_SUCH_CITY","message":"<Oz> is a story","retryable":true,"details":{"book":true}}`},
		{tool: "call", args: object{"operation": "weather/today", "input": object{"city": "Rome"}}, bad: true,
			want: `{"code":"INTERNAL","message":"internal error","retryable":false,"details":{"operation":"weather/today"}}`},
		{tool: "call", args: object{"operation": "weather/today", "input": object{"town": "Ulm"}}, bad: true,
			want: `{"code":"INVALID_INPUT","message":"/: missing required \"city\" (string)","retryable":false,"details":{"operation":"weather/today","problems":[{"path":"/city","expected":"string"}]}}`},
		{tool: "call", args: object{"operation": "todey"}, bad: true,
			want: `{"code":"NOT_FOUND","message":"there is no operation of that name; the details have the nearest ones","retryable":false,"details":{"operation":"todey","nearest":["weather/today","token"]}}`},
		{tool: "batch", args: object{"calls": []object{{"operation": "weather/today", "input": object{"city": "Oz"}}, {"operation": "audit"}, {"operation": "weather/today", "input": `{"city":"Ulm"}`}}},
			want: `{"results":[{"operation":"weather/today","error":{"code":"NO_SUCH_CITY","message":"<Oz> is a story","retryable":true,"details":{"book":true}}},` +
				`{"operation":"audit","error":{"code":"NOT_FOUND","message":"there is no operation of that name","retryable":false,"details":{"operation":"audit"}}},` +
				`{"operation":"weather/today","value":{"for":"` + who + `","sky":"rain"}}]}`},
	}
}

func TestOverHTTPWithTwoPrincipals(t *testing.T) {
	s := site(t, shop(t), &bridge.ToMCPOptions{Identity: people})
	for _, version := range []string{legacy, modern} {
		ada, bob := client(t, s, "token-of-ada", version), client(t, s, "token-of-bob", version)
		for _, a := range readerCalls("ada") {
			a.check(t, ada)
		}
		for _, a := range readerCalls("bob") {
			a.check(t, bob)
		}
		ban := object{"operation": "weather/ban", "input": object{"city": "Ulm"}}
		toolCall{tool: "call", args: ban, want: `{"city":"Ulm"}`}.check(t, ada)
		toolCall{tool: "call", args: ban, bad: true,
			want: `{"code":"NOT_FOUND","message":"there is no operation of that name; the details have the nearest ones","retryable":false,"details":{"operation":"weather/ban","nearest":["weather/today"]}}`}.check(t, bob)
		toolCall{tool: "schema", args: object{"operation": "weather/ban"}, bad: true,
			want: `{"code":"NOT_FOUND","message":"there is no operation of that name; the details have the nearest ones","retryable":false,"details":{"operation":"weather/ban","nearest":["weather/today"]}}`}.check(t, bob)
		if got, _ := use(t, ada, "search", object{"query": "forbid"}); !strings.Contains(got, "weather/ban") {
			t.Errorf("ada does not find what she may call: %s", got)
		}
		if got, _ := use(t, bob, "search", object{"query": "forbid"}); got != `{"operations":[]}` {
			t.Errorf("bob finds what he may not call: %s", got)
		}
	}
}

func TestOverStdio(t *testing.T) {
	for _, version := range []string{legacy, modern} {
		s := connect(t, child(t), version)
		list, err := s.ListTools(t.Context(), nil)
		if err != nil || len(list.Tools) != 4 || !list.Tools[0].Annotations.ReadOnlyHint || list.Tools[2].Annotations != nil {
			t.Fatalf("%v %v", list, err)
		}
		for _, a := range readerCalls("me") {
			a.check(t, s)
		}
	}
}

func TestWhatIsNotForOutsideIsNotThere(t *testing.T) {
	four := bridge.ToMCP(shop(t), &bridge.ToMCPOptions{Local: grant("me", "weather:read", "weather:write")})
	got := do(t, four, "", "search", `{"query":"","limit":50}`)
	for name, want := range map[string]bool{"weather/today": true, "weather/ban": true, "audit": false} {
		if strings.Contains(got, `"`+name+`"`) != want {
			t.Errorf("%s: %t, in %s", name, !want, got)
		}
	}
	for _, name := range []string{"audit"} {
		for tool, input := range map[string]string{"schema": `{"operation":"` + name + `"}`, "call": `{"operation":"` + name + `"}`} {
			if got := do(t, four, "", tool, input); !strings.HasPrefix(got, `{"code":"NOT_FOUND"`) || strings.Contains(got, `"nearest":["`+name) {
				t.Errorf("%s %s: %s", tool, name, got)
			}
		}
	}
}

func do(t testing.TB, src toolbox.Source, p toolbox.Principal, tool, input string) string {
	t.Helper()
	r, err := src.Do(t.Context(), toolbox.Call{Name: tool, Input: json.RawMessage(input), Caller: p})
	if err != nil {
		t.Fatalf("%s %s: %v", tool, input, err)
	}
	return string(r.Structured())
}

// TestPrincipalsDoNotCross makes calls of two principals at once. Neither may get an answer for the other.
func TestPrincipalsDoNotCross(t *testing.T) {
	s := site(t, shop(t), &bridge.ToMCPOptions{
		Identity: people,
		Capabilities: func(_ context.Context, who operation.Identity) (operation.Capabilities, error) {
			return operation.Capabilities{"other": operation.NewSecret("other-of-" + string(who.Principal))}, nil
		},
	})
	var all sync.WaitGroup
	for _, version := range []string{legacy, modern} {
		for _, who := range []string{"ada", "bob"} {
			c := client(t, s, "token-of-"+who, version)
			all.Go(func() {
				for range 25 {
					today := toolCall{tool: "call", args: object{"operation": "weather/today", "input": object{"city": "Ulm"}}, want: `{"for":"` + who + `","sky":"rain"}`}
					today.check(t, c)
					batch := toolCall{tool: "batch", args: object{"calls": []object{{"operation": "token"}}}, want: `{"results":[{"operation":"token","value":"other-of-` + who + `"}]}`}
					batch.check(t, c)
					if got, _ := use(t, c, "search", object{"query": "forbid rain"}); strings.Contains(got, "weather/ban") != (who == "ada") {
						t.Errorf("%s finds %s", who, got)
					}
				}
			})
		}
	}
	all.Wait()
}

func TestRightsThatAreTakenAreGoneAtOnce(t *testing.T) {
	var now func() (operation.Identity, error)
	four := bridge.ToMCP(shop(t), &bridge.ToMCPOptions{
		Identity: func(context.Context, toolbox.Principal) (operation.Identity, error) { return now() },
	})
	for _, tt := range []struct {
		who  operation.Identity
		err  error
		want string
	}{
		{grant("ada", "weather:read"), nil, `{"for":"ada","sky":"rain"}`},
		{grant("ada"), nil, `{"code":"NOT_FOUND","message":"there is no operation of that name","retryable":false,"details":{"operation":"weather/today"}}`},
		{grant(""), fmt.Errorf("directory: %w", bridge.ErrNobody), `{"code":"FORBIDDEN","message":"the caller is not known any more","retryable":false}`},
		{grant(""), errors.New("ldap://secret@host is down"), `{"code":"INTERNAL","message":"the caller cannot be identified now","retryable":true}`},
	} {
		now = func() (operation.Identity, error) { return tt.who, tt.err }
		if got := do(t, four, "x", "call", `{"operation":"weather/today","input":{"city":"Ulm"}}`); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
		got := do(t, four, "x", "search", `{"query":"weather of a city"}`)
		if found := strings.Contains(got, "weather/today"); found != (len(tt.who.Scopes) > 0) {
			t.Errorf("%+v finds %s", tt.who, got)
		}
	}
}

func TestWithoutRightsTheRestIsLeft(t *testing.T) {
	four := bridge.ToMCP(shop(t), nil)
	for _, p := range []toolbox.Principal{"", "ada"} {
		got := do(t, four, p, "search", `{"query":""}`)
		if strings.Contains(got, "weather/") || !strings.Contains(got, `"wait"`) {
			t.Errorf("%q finds %s", p, got)
		}
	}
}

// TestNoCapabilitiesForWhatIsRefused checks that Capabilities is not called for a refused call.
func TestNoCapabilitiesForWhatIsRefused(t *testing.T) {
	var asked int
	four := bridge.ToMCP(shop(t), &bridge.ToMCPOptions{Local: grant("me", "weather:read"), Capabilities: func(context.Context, operation.Identity) (operation.Capabilities, error) {
		asked++
		return nil, errors.New("sealed")
	}})
	for name, want := range map[string]string{"weather/ban": "NOT_FOUND", "audit": "NOT_FOUND", "nothing": "NOT_FOUND"} {
		if got := do(t, four, "", "call", `{"operation":"`+name+`"}`); !strings.HasPrefix(got, `{"code":"`+want) || asked > 0 {
			t.Errorf("%s: asked %d times: %s", name, asked, got)
		}
	}
}

func TestCapabilitiesThatCannotBeHad(t *testing.T) {
	four := bridge.ToMCP(shop(t), &bridge.ToMCPOptions{Capabilities: func(context.Context, operation.Identity) (operation.Capabilities, error) {
		return nil, errors.New("vault: permission denied for s.1234")
	}})
	want := `{"code":"INTERNAL","message":"the capabilities of the operation are not available now","retryable":true}`
	if got := do(t, four, "", "call", `{"operation":"token"}`); got != want {
		t.Error(got)
	}
}

func TestDeadlinesAndCancellationReachTheOperation(t *testing.T) {
	four := bridge.ToMCP(shop(t), nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := four.Do(ctx, toolbox.Call{Name: "call", Input: json.RawMessage(`{"operation":"wait"}`)}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 1)
	defer cancel()
	<-ctx.Done()
	r, err := four.Do(ctx, toolbox.Call{Name: "call", Input: json.RawMessage(`{"operation":"wait"}`)})
	if err != nil || !strings.HasPrefix(string(r.Structured()), `{"code":"TIMEOUT"`) {
		t.Errorf("%v %s", err, r.Structured())
	}
}

func TestWhatIsRegisteredLaterIsFound(t *testing.T) {
	r := shop(t)
	four := bridge.ToMCP(r, nil)
	do(t, four, "", "search", `{"query":"dance"}`)
	spec := operation.Spec{Name: "dance", Visibility: operation.External}
	err := r.Add(operation.Registration{Spec: spec, Handler: func(context.Context, *operation.Context, json.RawMessage) (json.RawMessage, error) { return nil, nil }})
	if err != nil {
		t.Fatal(err)
	}
	if got := do(t, four, "", "search", `{"query":"dance"}`); got != `{"operations":[{"name":"dance","kind":"mutation","parameters":"(any)"}]}` {
		t.Error(got)
	}
	if got := do(t, four, "", "call", `{"operation":"dance"}`); got != "null" {
		t.Error(got)
	}
	r.Close()
	if got := do(t, four, "", "search", `{"query":""}`); got != `{"operations":[]}` {
		t.Error(got)
	}
}
