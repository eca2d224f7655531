package interop_test

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
)

// boxed gives a server the strict sandbox, with a home below dir.
func boxed(s config.Server, dir string, write ...string) config.Server {
	stdio := s.Transport.(config.Stdio)
	stdio.Sandbox = &config.Sandbox{Home: filepath.Join(dir, s.ID), Write: write}
	if os.Geteuid() == 0 {
		stdio.Sandbox.User = "65534"
	}
	s.Transport = stdio
	return s
}

// openDir returns a directory that servers of another user can find.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sandbox")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The servers of npm list all their tools in the strict sandbox, without a rule of their own.
func TestServersListTheirToolsInAStrictSandbox(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	names := []string{"@modelcontextprotocol/server-everything", "@modelcontextprotocol/server-memory", "time-mcp",
		"@cyanheads/git-mcp-server", "@modelcontextprotocol/server-sequential-thinking", "mcp-server-code-runner",
		"@dangahagan/weather-mcp", "@antv/mcp-server-chart", "airtable-mcp-server", "mcp-searxng", "reddit-mcp-buddy",
		"tavily-mcp", "chrome-devtools-mcp", "next-devtools-mcp", "nx-mcp"}
	names = names[:fixture.Size(t, 1, len(names))]
	env := []config.Pair{
		{Name: "AIRTABLE_API_KEY", Value: config.NewSecret("x")}, {Name: "TAVILY_API_KEY", Value: config.NewSecret("x")},
		{Name: "SEARXNG_URL", Value: config.NewSecret("http://127.0.0.1:9")},
	}
	var servers []config.Server
	for _, name := range names {
		command, args := peers.Command(t, name)
		s := config.Server{ID: filepath.Base(name), Transport: config.Stdio{Command: command, Args: args, Env: env}}
		servers = append(servers, boxed(s, dir))
	}
	command, args := peers.Command(t, "@modelcontextprotocol/server-filesystem", dir)
	servers = append(servers, boxed(config.Server{ID: "fs", Transport: config.Stdio{Command: command, Args: args}}, dir, dir))
	for batch := range slices.Chunk(servers, 4) { // all at once would be too many for two processors
		m := mount(t, t.Context(), batch, nil)
		for _, st := range m.Fleet.Status() {
			if st.Fault != nil || st.Phase != interop.Ready || st.Tools == 0 {
				t.Errorf("%s is %s, %d tools, fault %v", st.Server, st.Phase, st.Tools, st.Fault)
			}
		}
		m.Close()
	}
}

// dialServer is a server in Node that lists one tool for each address that it can connect to.
const dialServer = `
const net=require("net"),rl=require("readline").createInterface({input:process.stdin});
const dial=a=>new Promise(r=>net.connect(+a.split(":")[1],a.split(":")[0]).on("connect",()=>r(true)).on("error",()=>r(false)));
rl.on("line",async l=>{const m=JSON.parse(l);if(m.id===undefined)return;let result={};
if(m.method==="initialize")result={protocolVersion:m.params.protocolVersion,capabilities:{tools:{}},serverInfo:{name:"d",version:"1"}};
if(m.method==="tools/list"){result={tools:[]};for(const a of process.argv.slice(1))if(await dial(a))
result.tools.push({name:"port_"+a.split(":")[1],inputSchema:{type:"object"}})}
console.log(JSON.stringify({jsonrpc:"2.0",id:m.id,result}))})`

// A server connects to the hosts of its row, and to no other one.
func TestAServerConnectsToTheHostsOfItsRow(t *testing.T) {
	t.Parallel()
	var ports []string
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
	}
	args := []string{"-e", dialServer, "127.0.0.1:" + ports[0], "127.0.0.1:" + ports[1]}
	s := boxed(config.Server{ID: "d", Transport: config.Stdio{Command: peers.Node(t), Args: args}}, openDir(t))
	s.Transport.(config.Stdio).Sandbox.Hosts = []string{"localhost:" + ports[0]}
	m := mount(t, t.Context(), []config.Server{s}, nil)
	var names []string
	for _, d := range m.Box.Descriptors() {
		names = append(names, d.Name)
	}
	if want := config.QualifiedName("d", "port_"+ports[0]); !slices.Equal(names, []string{want}) {
		t.Errorf("tools %v, want %s; status %+v", names, want, m.Fleet.Status())
	}
}
