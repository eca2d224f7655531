package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/interop"
)

// meta is the _meta of the modern requests in these tests.
const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

// jobs is a server of tasks with ids that are easy to guess.
type jobs struct{ script }

func newJobs() *jobs {
	j := &jobs{}
	taskOf := func(m interop.Message) string { id, _ := protocol.LookupString(m.Params, "taskId"); return id }
	j.answers = map[string]func(interop.Message) (string, error){
		"server/discover": discovers(`{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`),
		"tools/list":      replyWith(`{"tools":[{"name":"make","inputSchema":{"type":"object"}}]}`),
		"tools/call": func(m interop.Message) (string, error) {
			var p struct{ Arguments forWhom }
			_ = json.Unmarshal(m.Params, &p)
			return `{"resultType":"task","taskId":"T-` + p.Arguments.For + `","status":"working"}`, nil
		},
		"tasks/get": func(m interop.Message) (string, error) {
			return `{"taskId":"` + taskOf(m) + `","status":"completed","result":{"content":[{"type":"text","text":"for ` + taskOf(m) + `"}]}}`, nil
		},
		"tasks/update": replyWith(`{}`),
		"tasks/cancel": replyWith(`{}`),
	}
	return j
}

// modernHeaders sets the headers that repeat parts of a modern request's body.
func modernHeaders(r *http.Request, method, params string) {
	r.Header.Set(protocol.HeaderVersion, "2026-07-28")
	r.Header.Set(protocol.HeaderMethod, method)
	for _, key := range []string{"name", "taskId"} {
		if name, ok := protocol.LookupString(json.RawMessage(params), key); ok {
			r.Header.Set(protocol.HeaderName, name)
		}
	}
}

// stealTask uses ann's task: as bob, altered, expired, under its own name and elsewhere.
func (c *crowd) stealTask(ctx context.Context) {
	_, reply := c.post(ctx, "ann", "", "tools/call", `{"name":"jobs__make","arguments":{"for":"ann"},`+meta+`}`)
	var made struct{ Result struct{ TaskID string } }
	if err := json.Unmarshal([]byte(reply), &made); err != nil || len(made.Result.TaskID) < 20 {
		c.Errorf("%v: %s", err, reply)
		return
	}
	id := made.Result.TaskID
	token, err := c.keys.Open(id, sealed.Want{Kind: sealed.Task, Principal: "ann"})
	if err != nil {
		c.Error(err)
		return
	}
	token.Expires = time.Now().Add(-time.Millisecond)
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		for _, theft := range []struct{ who, id string }{
			{"bob", id}, {"bob", "T-ann"}, {"ann", "T-ann"}, {"ann", id[:9] + "_" + id[10:]}, {"ann", id + "A"}, {"ann", c.keys.Seal(token)},
		} {
			if theft.id == id && theft.who == "ann" {
				continue // in one of 64 runs this id is not altered
			}
			if _, reply := c.post(ctx, theft.who, "", method, `{"taskId":"`+theft.id+`",`+meta+`}`); !strings.Contains(reply, `"error"`) {
				c.Errorf("%s: %s has ann's task by %q: %s", method, theft.who, theft.id, reply)
			}
		}
	}
	if _, reply := c.post(ctx, "ann", "", "tasks/get", `{"taskId":"`+id+`",`+meta+`}`); !strings.Contains(reply, "for T-ann") {
		c.Errorf("ann's task is %s", reply)
	}
	c.markDone("task")
}

// answerTwice answers each of a call's two questions several times at once. Only one answer is accepted.
func (c *crowd) answerTwice(ctx context.Context) {
	const params = `{"name":"old__twice","arguments":{"for":"ann"},` + meta
	_, reply := c.post(ctx, "ann", "", "tools/call", params+"}")
	before := ""
	for round := range 2 {
		var asks struct {
			Result struct {
				InputRequests map[string]any
				RequestState  string
			}
		}
		if err := json.Unmarshal([]byte(reply), &asks); err != nil || len(asks.Result.InputRequests) != 1 {
			c.Errorf("round %d: %v: %s", round, err, reply)
			return
		}
		answer := func(state string) (reply string) {
			for key := range asks.Result.InputRequests {
				_, reply = c.post(ctx, "ann", "", "tools/call", params+`,"requestState":"`+state+`","inputResponses":{"`+key+`":{"action":"accept","content":{}}}}`)
			}
			return reply
		}
		if before != "" {
			if reply := answer(before); !strings.Contains(reply, `"error"`) {
				c.Errorf("the answer to an earlier question was taken for this one: %s", reply)
			}
		}
		before = asks.Result.RequestState
		var answering sync.WaitGroup
		replies := make([]string, 3)
		for i := range replies {
			answering.Go(func() { replies[i] = answer(before) })
		}
		answering.Wait()
		taken := 0
		for _, r := range replies {
			if !strings.Contains(r, `"error"`) {
				reply = r
				taken++
			}
		}
		if taken != 1 {
			c.Errorf("round %d: %d answers were taken: %q", round, taken, replies)
		}
	}
	if !strings.Contains(reply, "ann is ann") {
		c.Errorf("ann got %s", reply)
	}
}

// expired returns the state of a call that asks, with its deadline in the past.
func (c *crowd) expired(server, state string) string {
	kind, tool, prefix := sealed.RequestState, "ask", ""
	if text, clientEnd := strings.CutPrefix(state, "indus."); clientEnd {
		kind, tool, prefix, state = sealed.Parked, server+"__ask", "indus.", text
	}
	digest := sealed.Digest([]byte("tools/call"), []byte(`{"arguments":{"for":"ann"},"name":"`+tool+`"}`))
	token, err := c.keys.Open(state, sealed.Want{Kind: kind, Principal: "ann", Digest: digest})
	if err != nil {
		c.Error(err)
	}
	token.Expires = time.Now().Add(-time.Millisecond)
	return prefix + c.keys.Seal(token)
}

// listen subscribes to the updates of one principal, on its own streams. It fails if other updates arrive.
func (c *crowd) listen(ctx context.Context, who string) {
	for c.isRunning() {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		params := `{"notifications":{"resourceSubscriptions":["news:` + who + `","indus://new/news:` + who + `"]},` + meta + `}`
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":"`+who+`","method":"subscriptions/listen","params":`+params+`}`))
		if err != nil {
			c.Error(err)
		}
		for key, value := range map[string]string{"Authorization": who, "Content-Type": "application/json", "Accept": "application/json, text/event-stream"} {
			r.Header.Set(key, value)
		}
		modernHeaders(r, "subscriptions/listen", params)
		w, err := http.DefaultClient.Do(r)
		if err != nil {
			if ctx.Err() == nil {
				c.Error(err)
			}
			cancel()
			continue
		}
		received := 0
		for lines := bufio.NewScanner(w.Body); received < 5 && lines.Scan(); {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			var m struct {
				Method string
				Params struct {
					URI  string
					Meta map[string]any `json:"_meta"`
				}
			}
			if err := json.Unmarshal([]byte(data), &m); (err != nil || m.Params.Meta[protocol.MetaSubscription] != who) && ctx.Err() == nil { // otherwise the event may be cut off
				c.Errorf("%s hears %s: %v", who, data, err)
			}
			if m.Method == protocol.NoteResourceUpdated {
				c.checkOwner(who, "listened", m.Params.URI)
				received++
			}
		}
		w.Body.Close()
		cancel()
	}
}
