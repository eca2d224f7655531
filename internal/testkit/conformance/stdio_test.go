package conformance_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
)

// overHTTP lists the scored scenarios that concern HTTP alone.
func overHTTP() []string { return []string{"dns-rebinding-protection", "server-sse-multiple-streams"} }

// TestStdio compares the conversations in testdata. They hold the requests of the suite over HTTP, sent by a client on
// stdio. A file has the client's requests, by the scenarios of the suite, and the messages that the client receives,
// for a server of each era behind the gateway. In a request's _meta, null marks a member that is not sent, SEALED
// stands for the last received state, and "< METHOD" waits for a notification.
func TestStdio(t *testing.T) {
	t.Parallel()
	for client, revision := range map[interop.Era]string{interop.Legacy: legacyRevision, interop.Modern: modernRevision} {
		file := filepath.Join("testdata", "stdio-"+string(client)+".txtar")
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		parts := map[string]*txtar.File{}
		for i := range a.Files {
			parts[a.Files[i].Name] = &a.Files[i]
		}
		script := string(parts["client"].Data)
		for _, scenario := range scoredOf(t, revision) {
			if !regexp.MustCompile("(?m)^# (.*, )?"+scenario+"(,|$)").MatchString(script) &&
				!slices.Contains(overHTTP(), scenario) {
				t.Errorf("%s has no scenario %s of %s", file, scenario, revision)
			}
		}
		t.Run(string(client)+" client", func(t *testing.T) {
			for _, server := range []interop.Era{interop.Legacy, interop.Modern} {
				t.Run(string(server)+" server", func(t *testing.T) {
					t.Parallel()
					said := converse(t, client, server, script)
					heard := parts["heard from a "+string(server)+" server"]
					if d := cmp.Diff(strings.Split(string(heard.Data), "\n"), strings.Split(said, "\n")); d != "" && !*update {
						t.Errorf("-want +got:\n%s", d)
					}
					heard.Data = []byte(said)
				})
			}
		})
		if *update {
			if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// scoredOf returns the scenarios of servers that a revision requires, by the suite's own list.
func scoredOf(t *testing.T, revision string) (names []string) {
	t.Helper()
	text, err := os.ReadFile(peers.File(t,
		"node_modules/@modelcontextprotocol/conformance/requirements/"+revision+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\nserver:\n")
	for line := range strings.Lines(rest) {
		name, ok := strings.CutPrefix(line, "  - ")
		if !ok {
			break
		}
		names = append(names, strings.TrimSpace(name))
	}
	if len(names) < 30 {
		t.Fatalf("only %q are required", names)
	}
	return names
}

// converse returns the messages that a client of one era receives from a server of another. Requests that go-sdk's
// server refuses go to an asker.
func converse(t *testing.T, client, server interop.Era, script string) string {
	t.Helper()
	p := newPipe(t, client, server, config.Stdio{Command: peers.SDKEverythingServer(t)})
	at := p
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if scenario, ok := strings.CutPrefix(line, "# "); ok {
			fmt.Fprintf(&p.transcript, "# %s\n", scenario)
			at = p
			if refused()[scenario] != "" && server == interop.Modern {
				at = newPipe(t, client, server, askerOnStdio())
				at.request(strings.Split(script, "\n")[1]) // initialize
				at.transcript.Reset()
			}
			continue
		}
		at.request(line)
		if at != p {
			p.transcript.WriteString(at.transcript.String())
		}
	}
	return p.transcript.String()
}

// pipe is a client of one era. Its stdin and stdout lead to a gateway before one server.
type pipe struct {
	t          *testing.T
	modern     bool
	w          io.Writer
	r          *bufio.Reader
	ids        int
	state      string // the last received requestState
	transcript strings.Builder
	// changes holds the params of notifications that come at any time, until the test waits for them.
	changes map[string]json.RawMessage
}

func newPipe(t *testing.T, client, server interop.Era, via config.TransportConfig) *pipe {
	t.Helper()
	s := config.Server{ID: "everything", Transport: via, Era: server}
	g := gateway.New(t.Context(), []config.Server{s}, &gateway.Options{Transparent: s.ID})
	fromClient, w := io.Pipe()
	r, toClient := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- g.ServeIO(t.Context(), fromClient, toClient) }()
	t.Cleanup(func() {
		_ = w.Close()
		go func() { _, _ = io.Copy(io.Discard, r) }() // requests that end only now get their responses too
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_ = toClient.Close()
		g.Close()
	})
	return &pipe{t: t, modern: client == interop.Modern, w: w, r: bufio.NewReader(r),
		changes: map[string]json.RawMessage{}}
}

// request sends a request with its method and params, and records the messages until its response. If the response asks for
// input, the request is sent again with the input.
func (p *pipe) request(line string) {
	p.t.Helper()
	if method, ok := strings.CutPrefix(line, "< "); ok {
		if p.changes[method] == nil {
			p.receive(method)
		}
		fmt.Fprintf(&p.transcript, "< %s %s\n", method, stable(p.changes[method]))
		return
	}
	fmt.Fprintf(&p.transcript, "> %s\n", line)
	method, text, _ := strings.Cut(line, " ")
	var params map[string]json.RawMessage
	if err := json.Unmarshal([]byte(strings.ReplaceAll(text, "SEALED", p.state)), &params); err != nil {
		p.t.Fatalf("%s: %v", line, err)
	}
	for range 10 {
		result := p.send(method, params)
		var input struct {
			ResultType    string
			InputRequests map[string]struct{ Method string }
			RequestState  *string
		}
		if result == nil || json.Unmarshal(result, &input) != nil || input.ResultType != "input_required" {
			return
		}
		answers := map[string]json.RawMessage{}
		for key, q := range input.InputRequests {
			answers[key] = json.RawMessage(answerTo(q.Method))
		}
		params["inputResponses"], _ = json.Marshal(answers)
		delete(params, "requestState")
		if input.RequestState != nil {
			p.state = *input.RequestState
			params["requestState"], _ = json.Marshal(p.state)
		}
	}
	p.t.Fatalf("%s asks without end", line)
}

const clientCapabilities = `{"roots":{},"sampling":{},"elicitation":{"form":{},"url":{}}}`

// send returns the result of one request, or nil if it has none.
func (p *pipe) send(method string, params map[string]json.RawMessage) json.RawMessage {
	p.t.Helper()
	params = maps.Clone(params)
	if p.modern {
		meta := map[string]json.RawMessage{
			"io.modelcontextprotocol/protocolVersion":    json.RawMessage(`"2026-07-28"`),
			"io.modelcontextprotocol/clientCapabilities": json.RawMessage(clientCapabilities),
		}
		_ = json.Unmarshal(params["_meta"], &meta)
		maps.DeleteFunc(meta, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
		params["_meta"], _ = json.Marshal(meta)
		if meta == nil {
			delete(params, "_meta")
		}
	}
	if strings.HasPrefix(method, "notifications/") {
		p.write(map[string]any{"method": method, "params": params})
		return nil
	}
	p.ids++
	p.write(map[string]any{"id": p.ids, "method": method, "params": params})
	if method == "subscriptions/listen" {
		p.receive("notifications/subscriptions/acknowledged")
		return nil
	}
	return p.receive("")
}

func (p *pipe) write(message map[string]any) {
	message["jsonrpc"] = "2.0"
	b, _ := json.Marshal(message)
	fmt.Fprintf(p.w, "%s\n", b)
}

// receive records messages until a notification. If until is "", it waits for the response to the last request, and
// returns its result. It answers questions.
func (p *pipe) receive(until string) json.RawMessage {
	p.t.Helper()
	var questions []string // sent at once, so in any order
	for {
		line, err := p.r.ReadBytes('\n')
		if err != nil {
			p.t.Fatalf("%s: %v", until, err)
		}
		var m struct {
			ID                    json.RawMessage
			Method                string
			Params, Result, Error json.RawMessage
		}
		if err := json.Unmarshal(line, &m); err != nil {
			p.t.Fatalf("%v in %s", err, line)
		}
		if strings.HasSuffix(m.Method, "/list_changed") || m.Method == "notifications/resources/updated" {
			p.changes[m.Method] = m.Params
			if m.Method == until {
				return nil
			}
			continue
		}
		if m.Method != "" && m.ID != nil {
			questions = append(questions, fmt.Sprintf("< %s %s\n", m.Method, stable(m.Params)))
			p.write(map[string]any{"id": m.ID, "result": json.RawMessage(answerTo(m.Method))})
			continue
		}
		slices.Sort(questions)
		p.transcript.WriteString(strings.Join(questions, ""))
		questions = nil
		switch {
		case m.Method != "":
			fmt.Fprintf(&p.transcript, "< %s %s\n", m.Method, stable(m.Params))
		case m.Error != nil:
			fmt.Fprintf(&p.transcript, "< error %s\n", stable(m.Error))
		default:
			fmt.Fprintf(&p.transcript, "< %s\n", stable(m.Result))
		}
		if m.Method == until && (until != "" || string(m.ID) == fmt.Sprint(p.ids)) {
			return m.Result
		}
	}
}

// answerTo returns the client's answer to each question.
func answerTo(method string) string {
	switch method {
	case "roots/list":
		return `{"roots":[{"uri":"file:///project","name":"work"}]}`
	case "sampling/createMessage":
		return `{"role":"assistant","content":{"type":"text","text":"hello"},"model":"none","stopReason":"endTurn"}`
	}
	return `{"action":"accept","content":{"name":"a","username":"u","email":"u@example.com","step1":"1","confirmed":true,"ok":true,"color":"red","context":"c"}}`
}

// stable returns JSON without parts that differ between runs: sealed tokens, and the keys of the gateway's questions.
// Of tools it keeps only the names. Of a result's _meta it keeps only that it names the server.
func stable(raw json.RawMessage) string {
	var obj map[string]json.RawMessage
	if json.Unmarshal(raw, &obj) != nil {
		return string(raw)
	}
	if obj["requestState"] != nil {
		obj["requestState"] = json.RawMessage(`"SEALED"`)
	}
	var requests map[string]json.RawMessage
	if json.Unmarshal(obj["inputRequests"], &requests) == nil && requests != nil {
		var questions []string
		for _, key := range slices.Sorted(maps.Keys(requests)) {
			questions = append(questions, string(requests[key]))
		}
		slices.Sort(questions)
		obj["inputRequests"] = json.RawMessage("[" + strings.Join(questions, ",") + "]")
	}
	if meta := obj["_meta"]; bytes.HasPrefix(meta, []byte(`{"io.modelcontextprotocol/serverInfo":{"name"`)) &&
		bytes.Count(meta, []byte(":")) == 3 {
		obj["_meta"] = json.RawMessage(`"SERVER"`)
	}
	var tools []struct{ Name string }
	if json.Unmarshal(obj["tools"], &tools) == nil && tools != nil {
		var names []string
		for _, tool := range tools {
			names = append(names, tool.Name)
		}
		obj["tools"], _ = json.Marshal(names)
	}
	b, _ := json.Marshal(obj)
	return string(b)
}
