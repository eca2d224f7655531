package conformance_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/indusagi/indus/interop"
)

// TestStdio has the conversations in testdata: what the suite asks over HTTP, asked by a client on stdio. In a file are the
// client's requests, and what it hears where the server behind the gateway is of the one era and of the other.
func TestStdio(t *testing.T) {
	t.Parallel()
	for _, client := range []interop.Era{interop.Legacy, interop.Modern} {
		file := filepath.Join("testdata", "stdio-"+string(client)+".txtar")
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		parts := map[string]*txtar.File{}
		for i := range a.Files {
			parts[a.Files[i].Name] = &a.Files[i]
		}
		t.Run(string(client)+" client", func(t *testing.T) {
			for _, server := range []interop.Era{interop.Legacy, interop.Modern} {
				t.Run(string(server)+" server", func(t *testing.T) {
					t.Parallel()
					c := newPipe(t, client, server)
					for ask := range strings.Lines(string(parts["client"].Data)) {
						c.ask(strings.TrimSpace(ask))
					}
					heard := parts["heard from a "+string(server)+" server"]
					if d := cmp.Diff(strings.Split(string(heard.Data), "\n"), strings.Split(c.heard.String(), "\n")); d != "" && !*update {
						t.Errorf("-want +got:\n%s", d)
					}
					heard.Data = []byte(c.heard.String())
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

// pipe is a client of one era, at the other end of whose stdin and stdout is a gateway before one server.
type pipe struct {
	t      *testing.T
	modern bool
	w      io.Writer
	r      *bufio.Reader
	ids    int
	heard  strings.Builder
}

const declares = `{"roots":{},"sampling":{},"elicitation":{"form":{},"url":{}}}`

func newPipe(t *testing.T, client, server interop.Era) *pipe {
	t.Helper()
	s := interop.Server{ID: "everything", Transport: interop.Stdio{Command: peers.SDKEverythingServer(t)}, Era: server}
	g := gateway.New(t.Context(), []interop.Server{s}, &gateway.Options{Transparent: s.ID})
	fromClient, w := io.Pipe()
	r, toClient := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- g.ServeIO(t.Context(), fromClient, toClient) }()
	t.Cleanup(func() {
		_ = w.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		g.Close()
	})
	p := &pipe{t: t, modern: client == interop.Modern, w: w, r: bufio.NewReader(r)}
	if !p.modern {
		p.ask(`initialize {"protocolVersion":"2025-11-25","capabilities":` + declares + `,"clientInfo":{"name":"pipe","version":"1"}}`)
		fmt.Fprintln(p.w, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		p.heard.Reset()
	}
	return p
}

// ask sends a request, its method and params, and writes down what is heard until its answer, which is not one that
// asks for input: then it goes out again, with that.
func (p *pipe) ask(line string) {
	p.t.Helper()
	fmt.Fprintf(&p.heard, "> %s\n", line)
	method, text, _ := strings.Cut(line, " ")
	var params map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &params); err != nil {
		p.t.Fatalf("%s: %v", line, err)
	}
	for range 10 {
		result := p.send(method, params)
		var asks struct {
			ResultType    string
			InputRequests map[string]struct{ Method string }
			RequestState  json.RawMessage
		}
		if result == nil || json.Unmarshal(result, &asks) != nil || asks.ResultType != "input_required" {
			return
		}
		answers := map[string]json.RawMessage{}
		for key, q := range asks.InputRequests {
			answers[key] = json.RawMessage(answerTo(q.Method))
		}
		params["inputResponses"], _ = json.Marshal(answers)
		delete(params, "requestState")
		if asks.RequestState != nil {
			params["requestState"] = asks.RequestState
		}
	}
	p.t.Fatalf("%s asks without end", line)
}

// send is the result of one request; nil: it is an error.
func (p *pipe) send(method string, params map[string]json.RawMessage) json.RawMessage {
	p.t.Helper()
	p.ids++
	meta := map[string]json.RawMessage{}
	if m, ok := params["_meta"]; ok {
		_ = json.Unmarshal(m, &meta)
	}
	if p.modern {
		meta["io.modelcontextprotocol/protocolVersion"] = json.RawMessage(`"2026-07-28"`)
		meta["io.modelcontextprotocol/clientCapabilities"] = json.RawMessage(declares)
		params["_meta"], _ = json.Marshal(meta)
	}
	body, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": p.ids, "method": method, "params": params})
	fmt.Fprintf(p.w, "%s\n", body)
	var asked []string // at once, and so in any order
	for {
		line, err := p.r.ReadBytes('\n')
		if err != nil {
			p.t.Fatalf("%s: %v", method, err)
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
			continue // it comes whenever it does
		}
		if m.Method == "" || m.ID == nil {
			slices.Sort(asked)
			p.heard.WriteString(strings.Join(asked, ""))
			asked = nil
		}
		switch {
		case m.Method != "" && m.ID != nil:
			asked = append(asked, fmt.Sprintf("< %s %s\n", m.Method, stable(m.Params)))
		case m.Method != "":
			fmt.Fprintf(&p.heard, "< %s %s\n", m.Method, stable(m.Params))
		case m.Error != nil:
			fmt.Fprintf(&p.heard, "< error %s\n", stable(m.Error))
		default:
			fmt.Fprintf(&p.heard, "< %s\n", stable(m.Result))
		}
		if m.Method != "" && m.ID != nil {
			fmt.Fprintf(p.w, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, answerTo(m.Method))
		} else if m.Method == "" && string(m.ID) == fmt.Sprint(p.ids) {
			return m.Result
		}
	}
}

// answerTo is what the client says to each question.
func answerTo(method string) string {
	switch method {
	case "roots/list":
		return `{"roots":[{"uri":"file:///project","name":"work"}]}`
	case "sampling/createMessage":
		return `{"role":"assistant","content":{"type":"text","text":"hello"},"model":"none","stopReason":"endTurn"}`
	}
	return `{"action":"accept","content":{"name":"a","username":"u","email":"u@example.com","step1":"1","confirmed":true}}`
}

// stable is JSON without what differs from run to run: sealed tokens, and the keys under which the gateway asks.
func stable(raw json.RawMessage) string {
	var obj map[string]json.RawMessage
	if json.Unmarshal(raw, &obj) != nil {
		return string(raw)
	}
	if obj["requestState"] != nil {
		obj["requestState"] = json.RawMessage(`"SEALED"`)
	}
	var asked map[string]json.RawMessage
	if json.Unmarshal(obj["inputRequests"], &asked) == nil && asked != nil {
		var questions []string
		for _, key := range slices.Sorted(maps.Keys(asked)) {
			questions = append(questions, string(asked[key]))
		}
		slices.Sort(questions)
		obj["inputRequests"] = json.RawMessage("[" + strings.Join(questions, ",") + "]")
	}
	b, _ := json.Marshal(obj)
	return string(b)
}
