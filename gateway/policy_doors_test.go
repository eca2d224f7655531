package gateway_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/indusagi/indus/auth/identity"
	"github.com/indusagi/indus/control"
	"github.com/indusagi/indus/control/policy"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
	"github.com/indusagi/indus/toolbox/catalog"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var policies = flag.Int("policies", 0, "the number of random policies that TestListIsCallAtRandom tries, instead of its size")

// door is a client of a gateway.
type door struct {
	name    string
	client  *mcp.ClientSession
	prefix  string // of the names of tools; "": those of server a alone
	catalog bool
}

// A tool is listed if and only if some arguments are permitted, at every door: random policies, principals with random
// groups, views, eras and transports.
func TestListIsCallAtRandom(t *testing.T) {
	t.Parallel()
	tries := fixture.Size(t, 60, 300)
	if *policies > 0 {
		tries = *policies
	}
	var current atomic.Pointer[policy.Set]
	keys := identity.NewKeys(t.TempDir() + "/keys.json")
	guard := identity.NewGuard(nil, keys)
	offices := map[string]*office{"a": newOffice("a"), "b": newOffice("b")}
	options := gateway.Options{
		Host:  host.Options{Authenticate: guard.Principal},
		Guard: control.New(&control.Options{Policy: func() (*policy.Set, bool) { return current.Load(), false }}),
		Views: map[string]gateway.View{"all": {}, "catalog": {Expose: func(s toolbox.Source) toolbox.Source { return catalog.Over(s, nil) }}},
	}
	g := shelf{"a": offices["a"].Server, "b": offices["b"].Server}.open(t, options, "a", "b")
	web := httptest.NewServer(g.Handler())
	t.Cleanup(web.Close)
	var doors []door
	for _, key := range []identity.Key{{Name: "alice", Groups: []string{"dev"}}, {Name: "bob", Groups: []string{"dev", "ops"}}} {
		token, _, err := keys.Add(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		as := &http.Client{Transport: authorized("Bearer " + token)}
		for _, path := range []string{"/mcp", "/mcp/a", "/mcp/@all", "/mcp/@catalog"} {
			for _, era := range bothEras {
				transport := &mcp.StreamableClientTransport{Endpoint: web.URL + path, HTTPClient: as}
				doors = append(doors, openDoor(t, fmt.Sprint(key.Name, " ", path, " ", era), path, era, transport))
			}
		}
		doors = append(doors, openDoor(t, key.Name+" /sse", "/sse", interop.Legacy,
			&mcp.SSEClientTransport{Endpoint: web.URL + "/sse", HTTPClient: as}))
	}
	for _, era := range bothEras {
		in, toGateway := io.Pipe()
		fromGateway, out := io.Pipe()
		go func() { _ = g.ServeIO(t.Context(), in, out) }()
		t.Cleanup(func() { _, _ = toGateway.Close(), fromGateway.Close() })
		doors = append(doors, openDoor(t, "streams "+string(era), "/mcp", era,
			&mcp.IOTransport{Reader: fromGateway, Writer: toGateway}))
	}
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	file := filepath.Join(t.TempDir(), "policy.cedar")
	listed, permitted := 0, 0
	for range tries {
		text := randomPolicy(random)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		set, err := policy.Load(file)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		current.Store(set)
		d := doors[random.IntN(len(doors))]
		names := d.listed(t)
		listed += len(names)
		for _, server := range []string{"a", "b"} {
			if server == "b" && d.prefix == "" {
				continue
			}
			for _, tool := range []string{"open", "secret"} {
				name := tool
				if d.prefix != "" {
					name = server + "__" + tool
				}
				can := false
				for _, path := range []string{"x", "y", "z", ""} {
					before := offices[server].calls.Load()
					d.call(t, name, path)
					if offices[server].calls.Load() != before {
						can = true
						permitted++
					}
				}
				if is := slices.Contains(names, name); is != can {
					t.Fatalf("seed %d, %s: %s is listed: %v, and can be called: %v\n%s", seed, d.name, name, is, can, text)
				}
			}
		}
	}
	if listed == 0 || permitted == 0 {
		t.Errorf("no policy permitted anything")
	}
	t.Logf("%d policies at %d doors: %d tools listed, %d calls permitted", tries, len(doors), listed, permitted)
}

func openDoor(t *testing.T, name, path string, era interop.Era, transport mcp.Transport) door {
	t.Helper()
	o := &mcp.ClientSessionOptions{}
	if era == interop.Legacy {
		o.ProtocolVersion = "2025-11-25"
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), transport, o)
	if err != nil {
		t.Fatal(name, err)
	}
	t.Cleanup(func() { _ = session.Close() })
	d := door{name: name, client: session, prefix: "server", catalog: strings.HasSuffix(path, "catalog")}
	if path == "/mcp/a" {
		d.prefix = ""
	}
	return d
}

// listed returns the names of the tools that the client sees.
func (d door) listed(t *testing.T) (names []string) {
	t.Helper()
	if !d.catalog {
		tools, err := d.client.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(d.name, err)
		}
		for _, tool := range tools.Tools {
			names = append(names, tool.Name)
		}
		return names
	}
	r, err := d.client.CallTool(t.Context(), &mcp.CallToolParams{Name: "search", Arguments: map[string]any{"query": ""}})
	if err != nil {
		t.Fatal(d.name, err)
	}
	for _, name := range []string{"a__open", "a__secret", "b__open", "b__secret"} {
		if strings.Contains(answerText(r), name) {
			names = append(names, name)
		}
	}
	return names
}

// call calls a tool. A path of "" leaves the argument out.
func (d door) call(t *testing.T, name, path string) {
	t.Helper()
	args := map[string]any{}
	if path != "" {
		args["path"] = path
	}
	params := &mcp.CallToolParams{Name: name, Arguments: args}
	if d.catalog {
		params = &mcp.CallToolParams{Name: "call", Arguments: map[string]any{"operation": name, "input": args}}
	}
	_, _ = d.client.CallTool(context.WithoutCancel(t.Context()), params)
}

// randomPolicy returns a policy whose conditions use all that a request has.
func randomPolicy(r *rand.Rand) string {
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	var b strings.Builder
	for range 1 + r.IntN(4) {
		b.WriteString(pick("permit", "permit", "forbid"))
		fmt.Fprintf(&b, "(%s, %s, %s)",
			pick("principal", `principal == User::"alice"`, `principal == User::"local"`, `principal in Group::"ops"`),
			pick(`action == Action::"call"`, `action == Action::"call"`, "action"),
			pick("resource", `resource in Server::"a"`, `resource == Tool::"a/open"`, `resource == Tool::"b/secret"`))
		for range r.IntN(3) {
			fmt.Fprintf(&b, " %s { %s }", pick("when", "unless"), pick(
				`resource is Tool && resource.claims has readOnly && resource.claims.readOnly`,
				`context.view == View::"@all"`, `context.era == "modern"`, `context.client == Client::"test"`,
				`context has args && context.args has path && context.args.path == "x"`,
				`context has args && context.args has path && context.args.path like "y*"`,
				`context has args && context.args has path`))
		}
		b.WriteString(";\n")
	}
	return b.String()
}
