package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// reply is a message of a server, with the event that carried it.
type reply struct {
	ID     int
	Method string
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
	event string
}

// text returns the text of a tool's result, or an error if the call failed.
func (r *reply) text() (string, error) {
	if r.Error != nil {
		return "", errors.New(r.Error.Message)
	}
	var result struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := json.Unmarshal(r.Result, &result); err != nil || len(result.Content) == 0 {
		return "", fmt.Errorf("the result is %s", r.Result)
	}
	if result.IsError {
		return "", errors.New(result.Content[0].Text)
	}
	return result.Content[0].Text, nil
}

// request builds an HTTP request. session is "" for the modern era.
func (c *soaker) request(ctx context.Context, verb, session, method, params string) *http.Request {
	body := ""
	if method != "" {
		body = fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s}}`, method, params)
	}
	r, err := http.NewRequestWithContext(ctx, verb, c.url+"/mcp", strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	} else if strings.Contains(params, "2026-07-28") {
		r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		r.Header.Set("Mcp-Method", method)
		var p struct{ Name string }
		_ = json.Unmarshal([]byte("{"+params+"}"), &p)
		r.Header.Set("Mcp-Name", p.Name)
	}
	return r
}

// replies sends a request and passes each message of the answer to take, until take returns false.
func (c *soaker) replies(r *http.Request, take func(*reply) bool) (http.Header, error) {
	resp, err := c.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		raw, err := io.ReadAll(resp.Body)
		one := &reply{}
		if err == nil && len(raw) > 0 && json.Unmarshal(raw, one) != nil {
			err = fmt.Errorf("%s: %s", resp.Status, raw)
		}
		take(one)
		return resp.Header, err
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	event := ""
	for lines.Scan() {
		one := &reply{}
		switch line := lines.Text(); {
		case strings.HasPrefix(line, "id: "):
			event = strings.TrimPrefix(line, "id: ")
			continue
		case strings.HasPrefix(line, "data: "):
			if err := json.Unmarshal([]byte(line[6:]), one); err != nil {
				return resp.Header, fmt.Errorf("%w: %s", err, line)
			}
		case line != "data:":
			continue
		}
		if one.event = event; !take(one) {
			return resp.Header, nil
		}
	}
	return resp.Header, lines.Err()
}

// post sends a request and returns the answer.
func (c *soaker) post(ctx context.Context, session, method, params string) (answer *reply, h http.Header, err error) {
	h, err = c.replies(c.request(ctx, http.MethodPost, session, method, params), func(one *reply) bool {
		if one.Method == "" && one.event == "" || one.Result != nil || one.Error != nil {
			answer = one
		}
		return answer == nil
	})
	if err == nil && answer == nil {
		err = io.ErrUnexpectedEOF
	}
	return answer, h, err
}

// resuming is a legacy client that loses its connections and resumes to get its answers.
func (c *soaker) resuming() {
	for c.running() {
		ctx := c.Context()
		answer, h, err := c.post(ctx, "", "initialize", helloParams)
		if err == nil {
			err = answer.failure()
		}
		session := h.Get("Mcp-Session-Id")
		c.done("initialize", err, session != "", "no session")
		if session == "" {
			continue
		}
		for range 5 {
			if c.running() {
				c.done("resume", c.resume(ctx, session), true, "")
			}
		}
		if c.tasks != "" && c.random.IntN(3) == 0 {
			c.done("task", c.task(ctx, session), true, "")
		}
		if _, err := c.replies(c.request(ctx, http.MethodDelete, session, "", ""),
			func(*reply) bool { return false }); err != nil {
			c.failed("delete", err)
		}
	}
}

// resume calls a tool, drops the connection, and resumes.
func (c *soaker) resume(ctx context.Context, session string) error {
	ctx, cancel := context.WithTimeout(ctx, soakDeadline)
	defer cancel()
	nonce, last := c.nonce(), ""
	var answer *reply
	params := fmt.Sprintf(`"name":"%s__sleep","arguments":{"nonce":%q,"ms":%d}`, c.server(c.gossips), nonce,
		600+c.random.IntN(600))
	take := func(lose bool) func(one *reply) bool {
		return func(one *reply) bool {
			last = one.event
			if one.Result != nil || one.Error != nil {
				answer = one
			}
			return answer == nil && !lose
		}
	}
	_, err := c.replies(c.request(ctx, http.MethodPost, session, "tools/call", params), take(true))
	for err == nil && answer == nil {
		if last == "" {
			return errors.New("there is nothing to come back for")
		}
		time.Sleep(time.Duration(c.random.IntN(800)) * time.Millisecond)
		r := c.request(ctx, http.MethodGet, session, "", "")
		r.Header.Set("Last-Event-ID", last)
		was := last
		_, err = c.replies(r, take(c.random.IntN(4) == 0))
		if err == nil && answer == nil && last == was {
			return errors.New("the answer is lost")
		}
		c.note("resumed")
	}
	if err != nil {
		return err
	}
	text, err := answer.text()
	if err == nil && text != nonce {
		c.Errorf("%s got %q for %q", c.name, text, nonce)
	}
	return err
}

// task creates a task, checks that another principal cannot see it, and waits for its result.
func (c *soaker) task(ctx context.Context, session string) error {
	ctx, cancel := context.WithTimeout(ctx, soakDeadline)
	defer cancel()
	nonce := c.nonce()
	made, _, err := c.post(ctx, session, "tools/call",
		fmt.Sprintf(`"name":"%s__simulate-research-query","arguments":{"topic":%q},"task":{"ttl":60000}`, c.tasks, nonce))
	if err != nil || made.Error != nil {
		return errors.Join(err, made.failure())
	}
	var created struct{ Task struct{ TaskID string } }
	if err := json.Unmarshal(made.Result, &created); err != nil || created.Task.TaskID == "" {
		return fmt.Errorf("no task: %s", made.Result)
	}
	of := fmt.Sprintf(`"taskId":%q`, created.Task.TaskID)
	if got, _, err := c.other().post(ctx, "", "tasks/get", of+","+modernMeta("{}")); err == nil && got.Error == nil {
		c.Errorf("another sees the task of %s: %s", c.name, got.Result)
	}
	got, _, err := c.post(ctx, session, "tasks/result", of)
	if err != nil {
		return err
	}
	text, err := got.text()
	if err == nil && !strings.Contains(text, nonce) {
		c.Errorf("%s has the task of another: %s", c.name, text)
	}
	return err
}

func (r *reply) failure() error {
	if r == nil || r.Error == nil {
		return nil
	}
	return errors.New(r.Error.Message)
}

// modernMeta returns the part that a modern request with these capabilities carries.
func modernMeta(capabilities string) string {
	return `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":` + capabilities + `}`
}

// modern is a client without the SDK that answers questions, ignores questions, listens and disconnects.
func (c *soaker) modern() {
	began := time.Now()
	abandoned := 0
	for c.running() {
		ctx, cancel := context.WithTimeout(c.Context(), soakDeadline)
		switch n := c.random.IntN(10); {
		case n < 6:
			c.done("input_required", c.answers(ctx), true, "")
		case n < 9:
			c.done("listen", c.listens(ctx), true, "")
		case abandoned < 3 && time.Since(began) < soakWarm: // each waits for five minutes and keeps a process alive
			abandoned++
			_, _, err := c.post(ctx, "", "tools/call", c.asks(c.nonce(), c.server(c.gossips))+"}")
			c.done("abandon", err, true, "")
		}
		cancel()
	}
}

func (c *soaker) asks(nonce, server string) string {
	meta := modernMeta(`{"elicitation":{}}`)
	return fmt.Sprintf(`"name":"%s__ask","arguments":{"nonce":%q},%s`, server, nonce, meta[:len(meta)-1])
}

// answers makes a server ask, lets another client try to answer, and then answers twice itself.
func (c *soaker) answers(ctx context.Context) error {
	nonce := c.nonce()
	params := c.asks(nonce, c.server(c.gossips)) + "}"
	first, _, err := c.post(ctx, "", "tools/call", params)
	if err != nil || first.Error != nil {
		return errors.Join(err, first.failure())
	}
	var asks struct {
		InputRequests map[string]struct{ Params struct{ Message string } }
		RequestState  string
	}
	if err := json.Unmarshal(first.Result, &asks); err != nil || len(asks.InputRequests) != 1 {
		_, err := first.text()
		return err
	}
	key := ""
	for k, r := range asks.InputRequests {
		key = k
		c.checkOwn("question", named.ReplaceAllString(r.Params.Message, ""))
	}
	retry := func(as *soaker) (string, error) {
		got, _, err := as.post(ctx, "", "tools/call",
			fmt.Sprintf(`%s,"requestState":%q,"inputResponses":{%q:{"action":"accept","content":{"name":%q}}}`, params,
				asks.RequestState, key, nonce))
		if err != nil {
			return "", err
		}
		return got.text()
	}
	if got, err := retry(c.other()); err == nil {
		c.Errorf("another answers for %s: %s", c.name, got)
	}
	text, err := retry(c)
	if err == nil && text != nonce+" accept "+nonce {
		c.Errorf("%s got %q", nonce, text)
	}
	if _, twice := retry(c); err == nil && twice == nil && strings.HasPrefix(asks.RequestState, "indus.") {
		c.Errorf("%s has answered twice", nonce)
	}
	return err
}

// listens subscribes to its own resource, and disconnects.
func (c *soaker) listens(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	server := c.server(c.gossips)
	uri := "news-" + server + ":" + c.name
	heard := 0
	_, err := c.replies(c.request(ctx, http.MethodPost, "", "subscriptions/listen",
		fmt.Sprintf(`"notifications":{"toolsListChanged":true,"resourceSubscriptions":[%q]},%s`, uri, modernMeta("{}"))),
		func(one *reply) bool {
			heard++
			switch one.Method {
			case "notifications/subscriptions/acknowledged":
				go func() {
					_, _, _ = c.post(ctx, "", "tools/call",
						fmt.Sprintf(`"name":"%s__touch","arguments":{"nonce":%q},%s`, server, c.nonce(), modernMeta("{}")))
				}()
			case "notifications/resources/updated":
				c.note("update")
				return false
			}
			return heard < 10
		})
	if ctx.Err() != nil { // a client that hears nothing in time disconnects too
		return nil
	}
	return err
}
