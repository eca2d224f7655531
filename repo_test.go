package indus_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/indusagi/indus"

// layer lists which of our own packages a package may import, and the reason for the limit.
type layer struct {
	pkg     string
	imports []string
	reason  string
}

var layers = []layer{
	{"internal/keyword", nil, "a table of JSON Schema's keywords"},
	{"internal/jsontree", []string{"internal/text", "internal/wire"},
		"JSON as a tree: of its meaning it knows only the references of a schema"},
	{"internal/signature", []string{"internal/jsontree", "internal/text"},
		"schemas in a few words: no idea of readers"},
	{"schema/rule", nil, "the rules of a consumer as data: no idea of schemas, nor of a provider"},
	{"schema/internal/check", []string{"schema/rule", "internal/jsontree", "internal/keyword", "internal/signature",
		"internal/text", "internal/wire"}, "findings by rules: no idea of the code that adapts, whose faults it finds"},
	{"schema", []string{"schema/internal/check", "schema/rule", "internal/jsontree", "internal/keyword",
		"internal/signature", "internal/text", "internal/wire"},
		"schemas are pure data: a check of a schema needs no other package"},
	{"schema/validate", []string{"schema", "internal/jsontree", "internal/keyword", "internal/signature",
		"internal/text"}, "arguments are checked against a schema, and by nothing else: no idea of tools"},
	{"schema/infer", nil, "Go types to schemas: no idea of their users"},
	{"internal/memory", nil, "bytes: no idea of their meaning"},
	{"internal/canonical", nil, "JSON values: no idea of their meaning"},
	{"internal/wire", []string{"internal/memory"}, "bytes of messages: no idea of tools or servers"},
	{"internal/box", nil, "processes and the files, hosts and calls that they may use: no idea of protocols"},
	{"internal/box/attack", []string{"internal/box"}, "attempts to leave a sandbox: no idea of servers"},
	{"internal/proc", []string{"internal/text"}, "processes: no idea of their protocols"},
	{"internal/rank", []string{"internal/text"}, "strings"},
	{"internal/text", nil, "characters"},
	{"internal/secret", []string{"internal/text", "internal/wire"},
		"text, and its parts that must be hidden: no idea of servers"},
	{"internal/uris", []string{"internal/text"}, "texts: no idea of MCP, nor of servers"},
	{"internal/carried", nil, "a value of an HTTP request: no idea of its meaning"},
	{"internal/watch", nil, "watchers and queues: no idea of their content"},
	{"internal/telemetry", []string{"internal/protocol", "internal/text", "internal/wire"},
		"requests as spans and numbers: no idea of the SDK, nor of the receivers"},
	{"internal/failure", []string{"schema/validate", "internal/text"},
		"the failures of calls: no idea of the callers"},
	{"internal/httpconn", []string{"internal/protocol"}, "connections and codings of HTTP: no idea of the request"},
	{"internal/proxied", nil, "a refusal of a proxy: no idea of the request"},
	{"internal/locked", []string{"internal/atomicfile", "internal/proc", "internal/text"},
		"versions of packages and their files: no idea of rows and servers, and no process"},
	{"internal/locked/install", []string{"internal/locked", "internal/proc", "internal/text"},
		"package managers: no idea of rows and servers"},
	{"internal/filelock", nil, "files: no idea of their content"},
	{"internal/protocol", []string{"internal/keyword", "internal/text", "internal/wire"},
		"names and readings that both sides of the bridge share"},
	{"internal/sdkwire", []string{"internal/wire", "internal/protocol"},
		"the one place that carries messages over the SDK's transports"},
	{"toolbox", []string{"schema", "schema/infer", "schema/rule", "schema/validate", "internal/proc", "internal/text", "internal/watch"},
		"an agent compiles without the bridge"},
	{"auth/identity", []string{"replica/cluster", "toolbox", "internal/atomicfile", "internal/carried", "internal/statefile"},
		"the sender of an HTTP request: no idea of MCP, nor of the request itself"},
	{"replica", []string{"internal/sealed", "internal/watch"},
		"HTTP requests between processes that serve the same clients: no idea of MCP, nor of the rights of a caller"},
	{"replica/cluster", []string{"internal/watch"}, "state that processes share: no idea of its meaning, nor of an engine"},
	{"replica/cluster/nats", []string{"replica/cluster", "internal/watch"}, "one engine: no idea of the state, and no other package knows NATS"},
	{"control/approval", []string{"replica/cluster", "internal/atomicfile", "internal/secret", "internal/statefile", "internal/text", "internal/watch",
		"internal/wire"}, "calls that wait for a person: no idea of MCP, of tools, nor of rights"},
	{"control/policy", []string{"internal/atomicfile", "internal/text", "internal/uris", "internal/wire"},
		"principals, items, JSON and rules: no idea of MCP, nor of the use of a decision"},
	{"internal/publicaddr", nil, "addresses: no idea of names, nor of the use of a connection"},
	{"internal/box/broker", []string{"internal/publicaddr", "internal/text"},
		"connections of processes: no idea of rows, of MCP, nor of how a process is started"},
	{"agent/standard", []string{"toolbox", "schema", "internal/proc", "internal/publicaddr", "internal/text"},
		"the built-in tools stand on toolbox, and end the processes that their commands leave"},
	{"toolbox/catalog", []string{"toolbox", "schema/validate", "internal/failure", "internal/jsontree",
		"internal/keyword", "internal/protocol", "internal/rank", "internal/signature", "internal/text", "internal/wire"},
		"four tools over a toolbox or any other set of tools: no idea of its kind"},
	{"agent", []string{"toolbox", "internal/filelock", "internal/text"},
		"a model, a toolbox and a loop: neither MCP nor a provider"},
	{"agent/internal/llm", []string{"agent", "toolbox", "internal/secret", "internal/text", "internal/wire"},
		"the part that the providers share: none of them, and no MCP"},
	{"agent/anthropic", []string{"agent", "schema", "agent/internal/llm"},
		"one provider: no idea of another, nor of the choice between them"},
	{"agent/openai", []string{"agent", "schema", "toolbox", "agent/internal/llm"},
		"one provider: no idea of another, nor of the choice between them"},
	{"operation", []string{"schema", "schema/infer", "schema/validate", "internal/failure", "internal/secret",
		"internal/text"}, "operations know nothing of MCP, nor of tools"},
	{"operation/bridge", []string{"operation", "interop", "interop/config", "toolbox", "toolbox/catalog", "internal/secret",
		"internal/text", "internal/wire"}, "operations meet MCP here and nowhere else; clients belong to the host"},
	{"interop/internal/conn", []string{"internal/httpconn", "internal/proxied", "internal/memory", "internal/wire", "internal/proc", "internal/protocol",
		"internal/sdkwire", "internal/secret", "internal/watch"},
		"one connection: no idea of tools, nor of the servers beside it"},
	{"interop/internal/advice", []string{"internal/box", "internal/proxied", "internal/protocol", "internal/wire", "interop/internal/conn",
		"interop/internal/lane"}, "what to try after an error: no idea of faults, servers and commands"},
	{"interop/internal/payload", []string{"internal/protocol", "internal/wire", "interop/internal/advice",
		"interop/internal/conn", "toolbox"}, "the bytes of params and results: no idea of servers and clients"},
	{"interop/config", []string{"internal/box", "internal/box/broker", "internal/proc", "internal/protocol", "internal/secret", "internal/text", "schema", "toolbox"},
		"servers as data: no idea of connections"},
	{"interop/internal/listing", []string{"interop/config", "internal/protocol", "internal/wire", "schema", "toolbox"},
		"rows of tools and rules: no idea of connections"},
	{"interop/internal/lane", []string{"toolbox", "internal/protocol", "internal/watch"},
		"turns and extra connections of one server: no idea of messages, nor of how to connect"},
	{"interop/internal/inflight", []string{"interop/internal/conn", "interop/internal/lane", "internal/protocol",
		"internal/watch", "toolbox"}, "the requests of one connection: no idea of messages, nor of how a client is reached"},
	{"interop", []string{"interop/config", "schema", "schema/rule", "toolbox", "toolbox/catalog", "interop/internal/advice", "interop/internal/conn",
		"interop/internal/inflight", "interop/internal/lane", "interop/internal/listing", "interop/internal/payload", "internal/memory",
		"internal/box/broker", "internal/locked", "internal/wire", "internal/proc", "internal/protocol", "internal/secret", "internal/watch"},
		"the bridge to servers knows no configuration, no client and no command"},
	{"host/internal/count", nil, "numbers: no idea of their meaning"},
	{"host/internal/parked", []string{"host/internal/count", "interop", "toolbox", "internal/protocol", "internal/sealed",
		"internal/watch", "internal/wire"}, "calls that wait for their clients: no idea of connections, nor of sessions"},
	{"host/internal/tools", []string{"interop", "toolbox", "internal/protocol", "internal/sealed", "internal/watch",
		"internal/wire"}, "tools and their calls: no idea of connections, nor of sessions"},
	{"host", []string{"host/internal/count", "host/internal/parked", "host/internal/tools", "interop", "replica",
		"toolbox", "internal/memory", "internal/sealed", "internal/text", "internal/watch",
		"internal/wire", "internal/protocol", "internal/sdkwire"}, "the bridge to clients publishes any tools that it gets"},
	{"auth/oauth", []string{"replica/cluster", "internal/atomicfile", "internal/filelock", "internal/httpconn", "internal/protocol",
		"internal/proxied", "internal/sealed", "internal/secret", "internal/statefile", "internal/text", "internal/watch"},
		"HTTP requests and their answers: no idea of MCP, nor of connections"},
	{"internal/statefile", []string{"replica/cluster", "internal/atomicfile", "internal/filelock", "internal/watch"},
		"a value that processes share, in a file or a cluster: no idea of its meaning"},
	{"internal/atomicfile", nil, "files: no idea of their content"},
	{"internal/registry", []string{"internal/httpconn", "internal/proxied", "internal/text"},
		"entries of registries as rows: no idea of files, terminals and servers"},
	{"internal/chain", []string{"internal/wire"}, "lines that are chained by hashes: no idea of their meaning"},
	{"internal/sealed", []string{"internal/atomicfile", "internal/statefile"},
		"bytes that only we can read again: no idea of their use"},
	{"control/activity", []string{"control/audit", "internal/protocol", "internal/text", "internal/watch"},
		"records of requests in memory: no idea of the guard that writes them"},
	{"gateway/internal/methods", []string{"interop", "internal/protocol", "internal/wire"},
		"a table: no idea of views and servers"},
	{"gateway/internal/lists", []string{"gateway/internal/methods", "interop", "interop/config", "ledger", "toolbox", "internal/protocol",
		"internal/watch", "internal/wire"},
		"the servers and their own lists: no idea of views and clients"},
	{"gateway/internal/naming", []string{"interop", "internal/protocol", "internal/wire"},
		"questions and the names of their servers: no idea of views"},
	{"gateway/internal/definition", []string{"interop/config", "ledger", "toolbox", "internal/canonical", "internal/protocol",
		"internal/secret", "internal/wire"}, "tools and servers as values: no connection"},
	{"gateway/internal/search", []string{"interop", "internal/protocol"}, "one request to several servers: no view, no policy"},
	{"control/internal/upstream", []string{"gateway", "interop", "interop/config", "toolbox", "internal/protocol",
		"internal/telemetry", "internal/wire"}, "one server and its requests: no view, no client"},
	{"gateway/internal/spent", []string{"interop", "toolbox"}, "tokens that were used: no idea of their content"},
	{"control/internal/rates", []string{"replica/cluster", "internal/watch"}, "numbers of requests: no idea of MCP"},
	{"gateway", []string{"schema", "host", "interop", "interop/config", "ledger", "replica", "toolbox",
		"gateway/internal/lists", "gateway/internal/methods", "gateway/internal/naming", "gateway/internal/definition",
		"gateway/internal/search", "gateway/internal/spent", "internal/canonical", "internal/carried", "internal/protocol",
		"internal/sealed", "internal/uris", "internal/watch", "internal/wire"},
		"servers, their ledger and clients meet here; no configuration file, no command, and no guard"},
	{"control", []string{"auth/identity", "control/activity", "control/approval", "control/audit", "control/internal/rates",
		"control/internal/upstream", "control/policy", "gateway", "interop", "interop/config", "replica/cluster", "toolbox",
		"internal/canonical", "internal/protocol", "internal/secret", "internal/telemetry", "internal/text", "internal/wire"},
		"what operators add to a gateway: no configuration file, no command"},
	{"interop/interoptest", []string{"interop", "interop/config", "host", "toolbox", "internal/testkit/transport"},
		"for the tests of users, who have the bridge and nothing else"},
	{"mcpconfig/internal/tree", nil, "the syntax of configuration files: no idea of their content"},
	{"mcpconfig/internal/commandline", []string{"internal/proc", "internal/text"}, "the words of a command line: no row and no file"},
	{"mcpconfig/internal/fields", []string{"schema", "internal/text"}, "the table of fields: no file and no value"},
	{"mcpconfig/internal/foreign", []string{"mcpconfig/internal/tree", "mcpconfig/internal/fields", "internal/text"},
		"the words of other clients: trees in, trees out, no file and no server"},
	{"mcpconfig/internal/edit", []string{"mcpconfig/internal/tree", "mcpconfig/internal/foreign", "internal/atomicfile",
		"internal/filelock"}, "files and their texts: no idea of the meaning of their rows"},
	{"mcpconfig/internal/approvals", []string{"internal/atomicfile", "internal/statefile", "mcpconfig/internal/edit", "mcpconfig/internal/tree"},
		"a file that only its owner may write: no idea of the approved servers"},
	{"mcpconfig", []string{"internal/locked", "mcpconfig/internal/approvals", "interop/config", "internal/httpconn", "internal/protocol", "schema",
		"internal/atomicfile", "internal/filelock", "internal/proc", "internal/secret", "internal/text", "mcpconfig/internal/edit",
		"mcpconfig/internal/tree", "mcpconfig/internal/foreign", "mcpconfig/internal/fields", "mcpconfig/internal/commandline"},
		"a configuration lists connections, and opens none"},
	{"control/audit", []string{"internal/chain", "internal/filelock", "internal/text", "internal/watch", "internal/wire"},
		"records of requests: no idea of MCP, nor of the decision"},
	{"ledger", []string{"replica/cluster", "interop", "interop/config", "toolbox", "schema", "internal/watch", "internal/atomicfile", "internal/canonical",
		"internal/chain", "internal/text", "internal/wire", "internal/filelock"}, "the ledger knows servers and their tools, and neither configuration files nor clients"},
	{"cmd/indus/internal/show", []string{"toolbox", "internal/text", "internal/secret", "internal/wire"},
		"the terminal: no idea of servers, files and flags"},
	{"cmd/indus/internal/signin", []string{"replica/cluster", "interop", "interop/config", "mcpconfig", "auth/oauth", "toolbox", "cmd/indus/internal/show"},
		"the one place where commands meet OAuth: no idea of which command"},
	{"cmd/indus/internal/lineedit", []string{"cmd/indus/internal/show", "internal/text", "internal/secret",
		"internal/atomicfile"}, "the input of a person: no idea of its use"},
	{"cmd/indus/internal/markdown", []string{"cmd/indus/internal/show", "internal/text"},
		"a text as lines: no idea of its author"},
	{"cmd/indus/internal/command", []string{"auth/identity", "control/approval", "replica/cluster", "replica/cluster/nats", "host", "interop", "interop/config", "ledger",
		"mcpconfig", "schema", "toolbox", "cmd/indus/internal/signin", "cmd/indus/internal/show", "internal/atomicfile",
		"internal/box", "internal/chain", "internal/proc", "internal/protocol", "internal/text", "internal/secret", "internal/watch",
		"internal/wire"}, "the common part of the commands: none of them"},
	{"cmd/indus/internal/arguments", []string{"toolbox", "cmd/indus/internal/show", "cmd/indus/internal/command",
		"internal/text", "internal/signature", "internal/secret", "internal/wire"},
		"the input of a person for a tool: no idea where the tool is"},
	{"cmd/indus/internal/servers", []string{"internal/box", "internal/box/broker", "internal/locked", "internal/locked/install", "internal/proc",
		"ledger", "cmd/indus/internal/describe", "interop", "interop/config", "mcpconfig", "schema", "toolbox", "cmd/indus/internal/signin",
		"cmd/indus/internal/show", "cmd/indus/internal/command", "cmd/indus/internal/arguments", "internal/signature",
		"internal/atomicfile", "internal/box", "internal/box/attack", "internal/box/broker", "internal/registry", "internal/text",
		"internal/secret", "internal/wire"},
		"a noun stands on the common packages, not on another noun"},
	{"cmd/indus/internal/tools", []string{"interop", "interop/config", "mcpconfig", "schema", "schema/rule", "schema/validate", "toolbox",
		"internal/protocol", "cmd/indus/internal/show", "cmd/indus/internal/command", "cmd/indus/internal/arguments",
		"internal/text", "internal/signature", "internal/secret", "internal/wire"},
		"a noun stands on the common packages, not on another noun"},
	{"cmd/indus/internal/history", []string{"replica/cluster", "interop", "ledger", "mcpconfig", "toolbox", "cmd/indus/internal/show",
		"cmd/indus/internal/command", "cmd/indus/internal/describe", "internal/chain", "internal/text", "internal/secret", "internal/wire"},
		"a noun stands on the common packages, not on another noun"},
	{"cmd/indus/internal/audit", []string{"control/audit", "mcpconfig", "cmd/indus/internal/describe",
		"cmd/indus/internal/show", "cmd/indus/internal/command"},
		"a noun stands on the common packages, not on another noun"},
	{"cmd/indus/internal/op", []string{"interop", "operation", "operation/bridge", "schema", "toolbox",
		"cmd/indus/internal/show", "cmd/indus/internal/command", "cmd/indus/internal/arguments", "internal/text",
		"internal/signature", "internal/secret", "internal/wire"},
		"a noun stands on the common packages, not on another noun"},
	{"cmd/indus/internal/keys", []string{"auth/identity", "mcpconfig", "cmd/indus/internal/show",
		"cmd/indus/internal/command"}, "a noun stands on the common packages, not on another noun"},
	{"cmd/indus/internal/connect", []string{"auth/identity", "mcpconfig", "cmd/indus/internal/keys", "cmd/indus/internal/show",
		"cmd/indus/internal/command", "internal/atomicfile", "internal/secret", "internal/statefile"},
		"it creates the keys of clients where keys has them"},
	{"cmd/indus/internal/telemetry", []string{"internal/telemetry", "internal/wire", "cmd/indus/internal/show",
		"cmd/indus/internal/command"}, "the one place that knows the SDK of OpenTelemetry"},
	{"cmd/indus/internal/describe", []string{"control/approval", "control/audit", "interop", "interop/config", "ledger", "control/policy",
		"cmd/indus/internal/command", "cmd/indus/internal/show"}, "the words that commands and the page share: no flag and no output"},
	{"cmd/indus/internal/approvals", []string{"control/approval", "cmd/indus/internal/describe", "cmd/indus/internal/show",
		"cmd/indus/internal/command", "internal/watch"},
		"a noun stands on the common packages, not on another noun"},
	{"cmd/indus/internal/policies", []string{"control/policy", "cmd/indus/internal/arguments", "cmd/indus/internal/describe",
		"cmd/indus/internal/show", "cmd/indus/internal/command",
		"internal/atomicfile"}, "a noun stands on the common packages, not on another noun"},
	{"cmd/indus/internal/serve", []string{"replica/cluster", "control", "control/activity", "control/approval", "control/audit", "gateway", "host", "auth/identity",
		"cmd/indus/internal/keys", "cmd/indus/internal/page", "interop", "interop/config", "ledger", "control/policy", "replica",
		"cmd/indus/internal/telemetry", "mcpconfig", "auth/oauth",
		"schema", "toolbox", "toolbox/catalog", "agent/standard", "cmd/indus/internal/signin",
		"cmd/indus/internal/show", "cmd/indus/internal/command", "cmd/indus/internal/describe", "internal/protocol",
		"internal/registry", "internal/sealed", "internal/text", "internal/secret", "internal/watch", "internal/wire"},
		"serve opens all parts of a gateway"},
	{"cmd/indus/internal/page", []string{"control", "control/activity", "control/approval", "control/audit", "gateway", "auth/identity", "interop", "interop/config", "ledger",
		"mcpconfig", "control/policy", "replica", "schema", "schema/validate", "toolbox", "cmd/indus/internal/arguments", "cmd/indus/internal/command",
		"cmd/indus/internal/connect", "cmd/indus/internal/describe", "cmd/indus/internal/show",
		"cmd/indus/internal/signin", "cmd/indus/internal/page/chart", "cmd/indus/internal/page/readable", "internal/atomicfile", "internal/secret", "internal/text",
		"internal/watch", "internal/wire"}, "the page shows a running gateway: no flag, and no listener"},
	{"cmd/indus/internal/page/chart", nil, "a chart is drawn from numbers"},
	{"cmd/indus/internal/page/readable", []string{"cmd/indus/internal/show", "internal/wire"}, "a call's arguments as texts: no HTML"},
	{"cmd/indus/internal/doctor", []string{"internal/locked", "interop", "interop/config", "ledger", "mcpconfig", "schema", "toolbox", "internal/proc",
		"internal/protocol", "internal/proxied", "cmd/indus/internal/signin", "cmd/indus/internal/show",
		"cmd/indus/internal/command", "internal/text", "internal/secret", "internal/wire"},
		"a noun stands on the common packages, not on another noun"},
	{"cmd/indus/internal/chat", []string{"agent", "cmd/indus/internal/show", "cmd/indus/internal/lineedit",
		"cmd/indus/internal/markdown", "internal/text", "internal/wire"},
		"the terminal of a conversation: no idea of servers"},
	{"cmd/indus/internal/session", []string{"cmd/indus/internal/chat", "cmd/indus/internal/lineedit",
		"cmd/indus/internal/markdown", "cmd/indus/internal/history", "agent", "interop", "interop/config", "ledger", "mcpconfig", "schema",
		"schema/validate", "toolbox", "toolbox/catalog", "agent/standard", "agent/anthropic", "agent/openai",
		"internal/atomicfile", "internal/filelock", "internal/text", "internal/secret", "internal/wire",
		"cmd/indus/internal/signin", "cmd/indus/internal/show", "cmd/indus/internal/command"},
		"the one place that knows the agent, its providers and the bridge"},
	{"cmd/indus", []string{"cmd/indus/internal/session", "cmd/indus/internal/show", "cmd/indus/internal/command",
		"cmd/indus/internal/servers", "cmd/indus/internal/tools", "cmd/indus/internal/history", "cmd/indus/internal/op",
		"cmd/indus/internal/approvals", "cmd/indus/internal/audit", "cmd/indus/internal/connect", "cmd/indus/internal/keys",
		"cmd/indus/internal/page", "cmd/indus/internal/policies", "cmd/indus/internal/serve",
		"cmd/indus/internal/doctor"}, "main names the commands"},
}

// forTests lists directories that only tests and readers use. They may import every package.
var forTests = []string{"examples", "internal/testkit"}

// noSDK lists the packages that compile without the MCP SDK: the seeds' "mcp" feature gate.
var noSDK = []string{"internal/keyword", "schema", "schema/rule", "schema/infer", "schema/validate", "toolbox", "agent/standard",
	"toolbox/catalog", "internal/wire", "internal/proc", "internal/text", "internal/rank", "internal/watch",
	"internal/failure", "auth/identity", "control/approval", "replica", "control/policy", "operation", "agent", "agent/internal/llm", "agent/anthropic",
	"agent/openai"}

func TestLayers(t *testing.T) {
	for _, l := range layers {
		for _, imp := range packageOf(t, l.pkg).Imports {
			ours, ok := strings.CutPrefix(imp, module+"/")
			if ok && !slices.Contains(l.imports, ours) {
				t.Errorf("%s imports %s: %s", l.pkg, ours, l.reason)
			}
		}
	}
}

func TestEveryPackageHasALayer(t *testing.T) {
	for _, pkg := range packagePaths(t) {
		if pkg == "" || slices.ContainsFunc(forTests,
			func(dir string) bool { return pkg == dir || strings.HasPrefix(pkg, dir+"/") }) {
			continue
		}
		if !slices.ContainsFunc(layers, func(l layer) bool { return l.pkg == pkg }) {
			t.Errorf("%s stands in no layer: add it to layers, with its reason", pkg)
		}
	}
}

func TestWhatCompilesWithoutTheSDK(t *testing.T) {
	for _, pkg := range noSDK {
		for _, dep := range packageOf(t, pkg).Deps {
			if strings.HasPrefix(dep, "github.com/modelcontextprotocol/") || dep == module+"/interop" {
				t.Errorf("%s depends on %s: a program with tools and without MCP compiles no SDK", pkg, dep)
			}
		}
	}
}

// TestAGatewayLinksNoGuard checks that a program that embeds a gateway links the modules of a host, and those that the
// ledger needs. The guard of operators, with its policy engine, tracer and token parser, is no part of it.
func TestAGatewayLinksNoGuard(t *testing.T) {
	modules := func(packages ...string) []string {
		args := append([]string{"list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}"}, packages...)
		out, err := exec.Command("go", args...).Output()
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Fields(string(out))
		slices.Sort(all)
		return slices.Compact(all)
	}
	if got, want := modules("./gateway"), modules("./host", "./ledger"); !slices.Equal(got, want) {
		t.Errorf("a gateway links %q, want %q", got, want)
	}
}

// TestTheCommandIsNoLargerThanNeeded checks that no template of the standard library can run in the command. It calls
// methods by their names, so the linker would keep every exported method of all linked packages, about 7 MB. The package
// gomponents imports html/template for the function that escapes a text, and cobra imports text/template for templates
// that a program sets. The linker removes the rest.
func TestTheCommandIsNoLargerThanNeeded(t *testing.T) {
	removed := []string{"maragu.dev/gomponents", "github.com/spf13/cobra", "html/template"}
	for _, pkg := range packageOf(t, "cmd/indus").Deps {
		imports := packageOf(t, pkg).Imports
		if !slices.Contains(removed, pkg) && (slices.Contains(imports, "html/template") ||
			slices.Contains(imports, "text/template")) {
			t.Errorf("cmd/indus depends on %s, which imports %s", pkg, imports)
		}
	}
}

// TestModulesAreTidy lists the packages of the other modules here. Each needs the main one, so what the main one requires
// changes their requirements too.
func TestModulesAreTidy(t *testing.T) {
	for _, mod := range tracked(t, "*/go.mod") {
		list := exec.Command("go", "list", "-test", "-deps", "./...")
		list.Dir = filepath.Dir(mod)
		if out, err := list.CombinedOutput(); err != nil {
			t.Errorf("%s: run go mod tidy there: %v\n%.500s", mod, err, out)
		}
	}
}

func TestFilesStayReadable(t *testing.T) {
	const limit, testLimit = 600, 900
	out, err := exec.Command("git", "ls-files", "-co", "--exclude-standard", "*.go").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range strings.Fields(string(out)) {
		n := lines(t, file)
		max := limit
		if strings.HasSuffix(file, "_test.go") {
			max = testLimit
		}
		if n > max {
			t.Errorf("%s has %d lines, over %d: cut it where its nouns part", file, n, max)
		}
	}
}

// listed is a package as go list prints it.
type listed struct {
	ImportPath    string
	DepOnly       bool
	Imports, Deps []string
}

// listAll runs go list once for all tests: the packages of the module by path, and the packages that they need.
var listAll = sync.OnceValues(func() (map[string]listed, error) {
	out, err := exec.Command("go", "list", "-deps", "-json=ImportPath,DepOnly,Imports,Deps", "./...").Output()
	all := map[string]listed{}
	for d := json.NewDecoder(bytes.NewReader(out)); err == nil; {
		var p listed
		if err = d.Decode(&p); err == nil {
			all[p.ImportPath] = p
		}
	}
	if err == io.EOF {
		err = nil
	}
	return all, err
})

// packageOf returns a package of the module, by its path from the root, or any package that it needs, by its import path.
func packageOf(t *testing.T, path string) listed {
	t.Helper()
	all, err := listAll()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	p, ok := all[strings.TrimSuffix(module+"/"+path, "/")]
	if !ok {
		if p, ok = all[path]; !ok {
			t.Fatalf("there is no package %q", path)
		}
	}
	return p
}

// packagePaths returns the paths of the module's packages from the root, which is "", in order.
func packagePaths(t *testing.T) (paths []string) {
	t.Helper()
	all, err := listAll()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for path, p := range all {
		if !p.DepOnly {
			paths = append(paths, strings.TrimPrefix(strings.TrimPrefix(path, module), "/"))
		}
	}
	slices.Sort(paths)
	return paths
}

// lines returns the number of lines of a file.
func lines(t *testing.T, file string) int {
	t.Helper()
	b, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return 0 // deleted, but not committed yet
	}
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(b, []byte("\n"))
}

func TestTheREADMEsProgramIsTheExample(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("examples/mount/main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ := bytes.Cut(readme, []byte("```go\n"))
	program, _, _ = bytes.Cut(program, []byte("```"))
	if !bytes.HasSuffix(example, program) || len(program) == 0 {
		t.Error("the program in README.md is not examples/mount/main.go")
	}
	if n := bytes.Count(program, []byte("\n")); n > 25 {
		t.Errorf("it has %d lines, over 25", n)
	}
}
