package fidelity

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/internal/testkit/peers"
)

var record = flag.String("record", "",
	"record the conversation of that name anew, with the command line that follows -args, "+
		"or with that of a peer")

// recording describes how a conversation is recorded: the server, and the requests after the lists.
type recording struct {
	about  string
	modern bool
	asks   []string // a method and its params
}

// recordings returns all recordings, by the name of the file.
func recordings() map[string]recording {
	return map[string]recording{
		"everything": {"npm @modelcontextprotocol/server-everything 2026.8.31 stdio", false, []string{
			`tools/call {"name":"echo","arguments":{"message":"\u0041 ☃ <&>"}}`,
			`tools/call {"name":"get-sum","arguments":{"a":1.0,"b":2e2}}`,
			`tools/call {"name":"get-sum","arguments":{"a":"one"}}`,
			`tools/call {"name":"get-tiny-image","arguments":{}}`,
			`tools/call {"name":"get-annotated-message","arguments":{"messageType":"error","includeImage":true}}`,
			`tools/call {"name":"get-structured-content","arguments":{"location":"Chicago"}}`,
			`tools/call {"name":"get-resource-links","arguments":{"count":3}}`,
			`tools/call {"name":"trigger-long-running-operation","arguments":{"duration":0.1,"steps":3},"_meta":{"progressToken":"one"}}`,
			`tools/call {"name":"trigger-sampling-request","arguments":{"prompt":"hello","maxTokens":10}}`,
			`tools/call {"name":"trigger-elicitation-request","arguments":{}}`,
			`tools/call {"name":"get-roots-list","arguments":{}}`,
			`prompts/get {"name":"simple-prompt"}`,
			`prompts/get {"name":"args-prompt","arguments":{"city":"Basel"}}`,
			`prompts/get {"name":"args-prompt"}`,
			`prompts/get {"name":"resource-prompt","arguments":{"resourceType":"Text","resourceId":"1"}}`,
			`completion/complete {"ref":{"type":"ref/prompt","name":"completable-prompt"},"argument":{"name":"department","value":"E"}}`,
			`completion/complete {"ref":{"type":"ref/prompt","name":"completable-prompt"},"argument":{"name":"name","value":""},"context":{"arguments":{"department":"Sales"}}}`,
			`completion/complete {"ref":{"type":"ref/resource","uri":"demo://resource/dynamic/text/{resourceId}"},"argument":{"name":"resourceId","value":"1"}}`,
			`resources/read {"uri":"demo://resource/static/document/features.md"}`,
			`resources/read {"uri":"demo://resource/nowhere"}`,
			`resources/subscribe {"uri":"demo://resource/static/document/features.md"}`,
			`resources/unsubscribe {"uri":"demo://resource/static/document/features.md"}`,
			`logging/setLevel {"level":"debug"}`,
		}},
		"filesystem": {"npm @modelcontextprotocol/server-filesystem 2026.8.31", false, []string{
			`tools/call {"name":"list_allowed_directories","arguments":{}}`,
			`tools/call {"name":"write_file","arguments":{"path":"note.txt","content":"\u0041 ☃\n"}}`,
			`tools/call {"name":"read_text_file","arguments":{"path":"note.txt"}}`,
			`tools/call {"name":"edit_file","arguments":{"path":"note.txt","edits":[{"oldText":"A","newText":"B"}]}}`,
			`tools/call {"name":"read_text_file","arguments":{"path":"missing.txt"}}`,
			`tools/call {"name":"list_directory","arguments":{"path":"."}}`,
			`tools/call {"name":"read_media_file","arguments":{"path":"note.txt"}}`,
		}},
		"memory": {"npm @modelcontextprotocol/server-memory 2026.8.31", false, []string{
			`tools/call {"name":"create_entities","arguments":{"entities":[{"name":"Ada","entityType":"person","observations":["wrote \u0041"]}]}}`,
			`tools/call {"name":"create_relations","arguments":{"relations":[{"from":"Ada","to":"Ada","relationType":"is"}]}}`,
			`tools/call {"name":"read_graph","arguments":{}}`,
			`tools/call {"name":"search_nodes","arguments":{"query":"ada"}}`,
			`tools/call {"name":"open_nodes","arguments":{"names":"none"}}`,
		}},
		"sequential-thinking": {"npm @modelcontextprotocol/server-sequential-thinking 2026.8.31", false, []string{
			`tools/call {"name":"sequentialthinking","arguments":{"thought":"one","nextThoughtNeeded":true,"thoughtNumber":1,"totalThoughts":2}}`,
			`tools/call {"name":"sequentialthinking","arguments":{"thought":"two","nextThoughtNeeded":"no"}}`,
		}},
		"context7": {"npm @upstash/context7-mcp 4.1.1", false, []string{
			`tools/call {"name":"resolve-library-id","arguments":{}}`,
		}},
		"playwright": {"npm @playwright/mcp 0.0.83", false, []string{
			`tools/call {"name":"browser_close","arguments":{}}`,
			`tools/call {"name":"browser_click","arguments":{"element":1}}`,
		}},
		"mcp-go-everything": {"go github.com/mark3labs/mcp-go/examples/everything v1.2.1", false, []string{
			`tools/call {"name":"echo","arguments":{"message":"\u0041 ☃ <&>"}}`,
			`tools/call {"name":"add","arguments":{"a":1.0,"b":2e2}}`,
			`tools/call {"name":"longRunningOperation","arguments":{"duration":0.1,"steps":2},"_meta":{"progressToken":7}}`,
			`tools/call {"name":"getTinyImage","arguments":{}}`,
			`prompts/get {"name":"simple_prompt"}`,
			`prompts/get {"name":"complex_prompt","arguments":{"temperature":"1"}}`,
			`resources/read {"uri":"test://static/resource"}`,
			`resources/read {"uri":"test://dynamic/resource/1"}`,
		}},
		"go-sdk-conformance": {"go github.com/modelcontextprotocol/go-sdk/conformance/everything-server v1.8.0", false, conformanceAsks()},
		"go-sdk-conformance-modern": {"go github.com/modelcontextprotocol/go-sdk/conformance/everything-server v1.8.0", true, append(conformanceAsks(),
			`tools/call {"name":"test_input_required_result_elicitation","arguments":{}}`,
			`tools/call {"name":"test_input_required_result_multiple_inputs","arguments":{}}`,
			`tools/call {"name":"test_input_required_result_capabilities","arguments":{}}`,
			`prompts/get {"name":"test_input_required_result_prompt"}`,
			`tools/call {"name":"test_missing_capability","arguments":{}}`,
		)},
		"go-sdk-memory-modern": {"go github.com/modelcontextprotocol/go-sdk/examples/server/memory v1.8.0", true, []string{
			`tools/call {"name":"create_entities","arguments":{"entities":[{"name":"Ada","entityType":"person","observations":["wrote \u0041"]}]}}`,
			`tools/call {"name":"read_graph","arguments":{}}`,
			`tools/call {"name":"open_nodes","arguments":{"names":"none"}}`,
		}},
		"go-sdk-sequentialthinking": {"go github.com/modelcontextprotocol/go-sdk/examples/server/sequentialthinking v1.8.0", false, []string{
			`tools/call {"name":"start_thinking","arguments":{"problem":"\u0041?","sessionId":"one"}}`,
			`tools/call {"name":"continue_thinking","arguments":{"sessionId":"none","thought":"x"}}`,
			`resources/read {"uri":"thinking://nowhere"}`,
		}},
	}
}

func conformanceAsks() []string {
	return []string{
		`tools/call {"name":"test_simple_text","arguments":{}}`,
		`tools/call {"name":"test_multiple_content_types","arguments":{},"_meta":{"com.example/trace":9007199254740993}}`,
		`tools/call {"name":"test_tool_with_progress","arguments":{},"_meta":{"progressToken":"\u0041"}}`,
		`tools/call {"name":"test_error_handling","arguments":{}}`,
		`tools/call {"name":"test_tool_with_logging","arguments":{}}`,
		`tools/call {"name":"test_sampling","arguments":{"prompt":"hello"}}`,
		`tools/call {"name":"test_elicitation","arguments":{"message":"your name?"}}`,
		`tools/call {"name":"test_elicitation_sep1330_enums","arguments":{}}`,
		`prompts/get {"name":"test_prompt_with_arguments","arguments":{"arg1":"\u0041","arg2":"☃"}}`,
		`prompts/get {"name":"nobody's"}`,
		`resources/read {"uri":"test://static-text"}`,
		`resources/read {"uri":"test://template/123/data"}`,
		`resources/read {"uri":"test://nowhere"}`,
		`completion/complete {"ref":{"type":"ref/prompt","name":"test_prompt_with_arguments"},"argument":{"name":"arg1","value":"par"}}`,
	}
}

// answers returns the answer of a recording's client to each question.
func answers(question string) string {
	switch question {
	case "roots/list":
		return `{"roots":[{"uri":"file:///project","name":"\u0041"}]}`
	case "sampling/createMessage":
		return `{"role":"assistant","content":{"type":"text","text":"hello \u0041"},"model":"none","stopReason":"endTurn"}`
	}
	return `{"action":"accept","content":{"name":"\u0041","check":true,"username":"u","email":"u@example.com"}}`
}

// TestRecord records the conversation that -record names: go test -run TestRecord ./internal/testkit/fidelity -args
// -record memory node node_modules/@modelcontextprotocol/server-memory/dist/index.js
func TestRecord(t *testing.T) {
	if *record == "" {
		return // it makes the files that TestTransparent reads
	}
	of, ok := recordings()[*record]
	if !ok {
		t.Fatalf("there is no recording %q", *record)
	}
	dir := t.TempDir()
	command := flag.Args()
	switch {
	case len(command) > 0:
	case *record == "everything":
		name, args := peers.Everything(t, "stdio")
		command = append([]string{name}, args...)
	case *record == "filesystem":
		name, args := peers.Filesystem(t, ".")
		command = append([]string{name}, args...)
	default:
		command = []string{peers.SDKEverythingServer(t)}
	}
	r := &recorder{t: t, modern: of.modern}
	r.p = fixture.Start(t, fixture.Command{Path: command[0], Args: command[1:], Dir: dir})
	fmt.Fprintf(&r.out, `{"about":%q,"modern":%v}`+"\n", of.about, of.modern)
	const all = `{"roots":{},"sampling":{},"elicitation":{"form":{},"url":{}}}`
	if of.modern {
		r.meta = `"io.modelcontextprotocol/protocolVersion":"` +
			modernVersion + `","io.modelcontextprotocol/clientCapabilities":` + all +
			`,"io.modelcontextprotocol/clientInfo":{"name":"recorder","version":"1"}`
		r.request("server/discover", "{}")
	} else {
		r.request("initialize",
			`{"protocolVersion":"`+legacyVersion+`","capabilities":`+all+`,"clientInfo":{"name":"recorder","version":"1"}}`)
		r.send(initializedBody)
		r.settle()
	}
	for _, list := range []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list"} {
		r.request(list, "{}")
	}
	for _, a := range of.asks {
		method, params, _ := strings.Cut(a, " ")
		r.request(method, params)
	}
	file := filepath.Join("testdata", "conversations", *record+".jsonl")
	text := strings.ReplaceAll(r.out.String(), dir, "/project") // hides the real directory
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// recorder is the client of a recording.
type recorder struct {
	t      *testing.T
	p      *fixture.Process
	modern bool
	meta   string // sent with each request
	ids    int
	out    bytes.Buffer
}

func (r *recorder) send(line string) {
	fmt.Fprintf(&r.out, `{"client":%s}`+"\n", line)
	fmt.Fprintln(r.p.Stdin, line)
}

// settle records the messages of the server after its initialization, until it responds to a ping.
func (r *recorder) settle() {
	r.t.Helper()
	fmt.Fprintln(r.p.Stdin, `{"jsonrpc":"2.0","id":"settled","method":"ping"}`)
	for !r.record(r.p.Line(), `"settled"`) {
	}
}

// record records one message, and answers it. It returns true for the response to the request of that id.
func (r *recorder) record(line, id string) bool {
	raw := compact([]byte(line))
	name, of := method(raw), lookup(raw, "id")
	switch {
	case strings.HasSuffix(name, "/list_changed"):
		r.t.Logf("left out: %s", raw)
		return false
	case name == "" && string(of) == id && id[0] == '"':
		return true
	}
	fmt.Fprintf(&r.out, `{"server":%s}`+"\n", line)
	if name != "" && of != nil {
		r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, of, answers(name)))
	}
	return name == "" && string(of) == id
}

// request sends a request, and records the messages until its response. Messages outside of requests are not recorded,
// because their time is not predictable.
func (r *recorder) request(name, params string) {
	r.t.Helper()
	if r.modern {
		params = withMeta(params, r.meta)
	}
	r.ids++
	r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, r.ids, name, params))
	for !r.record(r.p.Line(), fmt.Sprint(r.ids)) {
	}
}

// withMeta adds members to the _meta of params.
func withMeta(params, members string) string {
	if i := strings.Index(params, `"_meta":{`); i >= 0 {
		i += len(`"_meta":{`)
		return params[:i] + members + "," + params[i:]
	}
	sep := ","
	if params == "{}" {
		sep = ""
	}
	return params[:len(params)-1] + sep + `"_meta":{` + members + "}}"
}
