package page_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/indusagi/indus/control/audit"
	"github.com/indusagi/indus/interop"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// invisible is text that a terminal or a reader is deceived by.
const invisible = "\x1b[31mred\u202egnp.exe"

// tool is a tool of a test's server.
type tool struct {
	mcp.Tool
	schema string
	answer func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)
}

// toolServer returns a server with tools.
func toolServer(tools ...tool) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	for _, one := range tools {
		if one.schema == "" {
			one.schema = `{"type":"object"}`
		}
		one.InputSchema = json.RawMessage(one.schema)
		if one.answer == nil {
			one.answer = repeat
		}
		s.AddTool(&one.Tool, one.answer)
	}
	return s
}

// repeat answers with the arguments.
func repeat(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return textResult(string(r.Params.Arguments)), nil
}

func textResult(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// tried is the JSON of a call.
type tried struct {
	Error string
	Tool  struct {
		Command   string
		Arguments json.RawMessage
	}
	Answer struct {
		IsError bool
		Bytes   int
		Notes   []string
		Result  json.RawMessage
	}
}

// try calls a tool, as "indus page try/call" does.
func (b *tab) try(form url.Values) (status int, out tried) {
	b.t.Helper()
	status, text := b.send(http.MethodPost, "/try/call", form, "Origin: "+b.url, "Accept: application/json")
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		b.t.Fatal(err, text)
	}
	return status, out
}

const noteSchema = `{"type":"object","required":["title","where"],"additionalProperties":false,"properties":{
	"title":{"type":"string","description":"The title` + `<b>"},"body":{"type":"string"},
	"count":{"type":"integer","minimum":1,"maximum":9},"color":{"enum":["red","blue"]},
	"tags":{"type":"array","items":{"type":"string"}},"password":{"type":"string","format":"password"},
	"where":{"type":"object","properties":{"x":{"type":"number"}}}}}`

func TestAToolIsTriedByItsForm(t *testing.T) {
	s := serving{servers: map[string]*mcp.Server{"s": toolServer(
		tool{Tool: mcp.Tool{Name: "note"}, schema: noteSchema},
		tool{Tool: mcp.Tool{Name: "read", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}},
	)}}.start(t)
	b := s.operator(t)
	status, text := b.get("/try?tool=s__note")
	for _, want := range []string{
		`<form method="post" action="/try/call"`, `name="arg/title"`, `<textarea id="arg-4"`, `<option value="red"`,
		`name="arg/where/x"`, "<fieldset", `type="password"`, `min="1"`, `max="9"`, `data-ask=`, "The title&lt;b&gt;",
		`aria-describedby="arg-1-about"`, "required",
	} {
		if status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("the form has no %s: %d", want, status)
		}
	}
	if _, text := b.get("/try?tool=s__read"); strings.Contains(text, "data-ask") || !strings.Contains(text, "changes nothing") {
		t.Error("a tool that only reads asks:", text)
	}
	status, out := b.try(url.Values{
		"tool": {"s__note"}, "arg/title": {"it's"}, "arg/body": {"a\r\nb"}, "arg/count": {"5"}, "arg/tags": {"x\r\ny\r\n"},
		"arg/where/x": {"1.50"},
	})
	want := `{"title":"it's","where":{"x":1.50},"body":"a\nb","count":5,"tags":["x","y"]}`
	if status != http.StatusOK || !strings.Contains(string(out.Answer.Result), `"text"`) {
		t.Fatal(status, out)
	}
	if got := textOf(t, out); got != want {
		t.Errorf("the server got %s, want %s", got, want)
	}
	if out.Tool.Command != `indus mcp call s__note '`+strings.ReplaceAll(want, "'", `'\''`)+`'` {
		t.Error(out.Tool.Command)
	}
	status, out = b.try(url.Values{"tool": {"s__note"}, "args": {`{"title":"t","where":{}}`}})
	if status != http.StatusOK || textOf(t, out) != `{"title":"t","where":{}}` {
		t.Error(status, out)
	}
	status, text = b.post("/try/call", url.Values{
		"tool": {"s__note"}, "arg/title": {"kept"}, "arg/password": {"hunter2"}, "arg/where/x": {"1"},
	})
	if status != http.StatusOK || !strings.Contains(text, `value="kept"`) || !strings.Contains(text, "Answer</h3>") {
		t.Error(status, text)
	}
	if strings.Count(text, "hunter2") != 1 { // in the answer of the tool, and in no field or command
		t.Error("a password is shown:", text)
	}
}

// textOf returns the first text of an answer.
func textOf(t *testing.T, out tried) string {
	t.Helper()
	var r mcp.CallToolResult
	if err := json.Unmarshal(out.Answer.Result, &r); err != nil {
		t.Fatal(err, string(out.Answer.Result))
	}
	return r.Content[0].(*mcp.TextContent).Text
}

// Arguments that are wrong are not sent. The reason is beside their field, and not in the audit.
func TestWrongArgumentsAreNotSent(t *testing.T) {
	calls := 0
	d := newDesk(t, deskOptions{audit: true, servers: map[string]*mcp.Server{"s": toolServer(tool{
		Tool: mcp.Tool{Name: "note"}, schema: noteSchema,
		answer: func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			calls++
			return repeat(ctx, r)
		},
	})}})
	b := (&served{d.site, d.gateway, d.keys, d.web.URL}).operator(t)
	for _, test := range []struct{ field, value, near, want string }{
		{"arg/count", "sesame", "arg-5-wrong", "is no integer"},
		{"arg/count", "12", "arg-5-wrong", "at most 9"},
		{"arg/color", "sesame", "arg-6-wrong", "not one of the values"},
		{"arg/where/x", "sesame", "arg-3-wrong", "is no number"},
		{"arg/title", "", "arg-1-wrong", "missing required"},
		{"arg/none", "sesame", "arg-1", "has no field"},
		{"args", `{"title":7,"where":{}}`, `id="args"`, "expected string"},
		{"args", `{"sesame"`, `id="args"`, "is not JSON"},
		{"args", `["sesame"]`, `id="args"`, "is not a JSON object"},
	} {
		form := url.Values{"tool": {"s__note"}, "arg/title": {"t"}, "arg/where/x": {"1"}}
		form.Set(test.field, test.value)
		status, text := b.post("/try/call", form)
		if status != http.StatusUnprocessableEntity || !strings.Contains(text, test.want) ||
			!strings.Contains(text, test.near) {
			t.Errorf("%v: %d %s", test, status, text)
		}
		if status, out := b.try(form); status != http.StatusUnprocessableEntity || !strings.Contains(out.Error, test.want) {
			t.Errorf("%v: %d %+v", test, status, out)
		}
	}
	if calls != 0 {
		t.Errorf("%d calls were sent", calls)
	}
	_, text := b.post("/try/call", url.Values{"tool": {"s__note"}, "arg/title": {"t"}, "arg/count": {"99"}, "arg/where/x": {"1"}})
	if !strings.Contains(text, `aria-describedby="arg-5-about arg-5-wrong"`) || !strings.Contains(text, `name="force"`) {
		t.Error(text)
	}
	status, out := b.try(url.Values{"tool": {"s__note"}, "args": {`{"title":7}`}, "force": {"yes"}})
	if status != http.StatusOK || calls != 1 || textOf(t, out) != `{"title":7}` {
		t.Error("arguments are not sent even so:", status, out)
	}
	if status, _ := b.try(url.Values{"tool": {"s__none"}}); status != http.StatusUnprocessableEntity {
		t.Error("a tool that is not there:", status)
	}
	if status, _ := b.get("/try?tool=s__none"); status != http.StatusNotFound {
		t.Error("a tool that is not there:", status)
	}
	types := map[string]int{}
	_, err := audit.Read(t.Context(), d.auditPath(), &audit.Filter{}, func(r *audit.Record) error {
		types[r.Type]++
		if line, _ := json.Marshal(r); bytes.Contains(line, []byte("sesame")) || bytes.Contains(line, []byte("title")) {
			t.Errorf("the audit has arguments: %s", line)
		}
		return nil
	})
	if err != nil || types["mcp.tools.call"] != 1 || types["indus.page.try.call"] != 21 {
		t.Error(types, err)
	}
}

// A call of the page is the visitor's: the policy, its limits and its approvals hold.
func TestACallIsTheVisitors(t *testing.T) {
	d := newDesk(t, deskOptions{servers: map[string]*mcp.Server{"s": toolServer(
		tool{Tool: mcp.Tool{Name: "open"}}, tool{Tool: mcp.Tool{Name: "secret"}}, tool{Tool: mcp.Tool{Name: "asks"}},
	)}, keys: true, policy: `
		permit(principal in Group::"ops", action == Action::"administer", resource);
		permit(principal in Group::"ops", action == Action::"call", resource == Tool::"s/open")
		when { context.client == Client::"indus page" };
		@approve("caller") permit(principal, action == Action::"call", resource == Tool::"s/asks");
		permit(principal == User::"local", action == Action::"call", resource == Tool::"s/secret");`})
	s := &served{d.site, d.gateway, d.keys, d.web.URL}
	token := d.key("alice", "ops")
	operator, admin := s.operator(t), s.browser(t)
	if status, text := admin.post("/sign-in", url.Values{"token": {token}}); status != http.StatusOK {
		t.Fatal(status, text)
	}
	type list struct{ Tools []struct{ Name string } }
	names := func(b *tab) string { return fmt.Sprint(decode[list](t, b, "/try").Tools) }
	if got := names(admin); got != "[{s__asks} {s__open}]" {
		t.Error("the administrator sees", got)
	}
	if got := names(operator); got != "[{s__asks} {s__secret}]" {
		t.Error("the operator sees", got)
	}
	for _, test := range []struct {
		b    *tab
		tool string
		want int
	}{
		{admin, "s__open", http.StatusOK}, {admin, "s__secret", http.StatusUnprocessableEntity},
		{operator, "s__secret", http.StatusOK}, {operator, "s__open", http.StatusUnprocessableEntity},
	} {
		if status, out := test.b.try(url.Values{"tool": {test.tool}}); status != test.want {
			t.Error(test.tool, status, out)
		}
	}
	// indus asks the client of a call. The page leaves the question to its section of approvals.
	_, out := admin.try(url.Values{"tool": {"s__asks"}})
	if !out.Answer.IsError || !strings.Contains(textOf(t, out), "waits for approval") || out.Answer.Notes != nil {
		t.Errorf("%+v", out)
	}
	waiting, err := d.control.Approvals.List(t.Context(), nil)
	if err != nil || len(waiting) != 1 || waiting[0].Principal != "user:alice" || waiting[0].Client != "indus page" {
		t.Errorf("%+v %v", waiting, err)
	}
	if status, _ := s.browser(t).send(http.MethodPost, "/try/call", url.Values{"tool": {"s__open"}}, "Origin: "+s.url,
		"Sec-Fetch-Site: same-origin"); status != http.StatusForbidden {
		t.Error("a visitor without access calls a tool:", status)
	}
	if status, _ := operator.send(http.MethodPost, "/try/call", url.Values{"tool": {"s__secret"}},
		"Origin: https://evil.example", "Sec-Fetch-Site: cross-site"); status != http.StatusForbidden {
		t.Error("another site calls a tool:", status)
	}
	if status, _ := operator.get("/try/call?tool=s__secret"); status != http.StatusMethodNotAllowed {
		t.Error("a link calls a tool:", status)
	}
}

// A server's question is declined, and the answer has a note about it.
func TestQuestionsAreDeclined(t *testing.T) {
	s := serving{servers: map[string]*mcp.Server{"s": toolServer(tool{
		Tool: mcp.Tool{Name: "ask"},
		answer: func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			answer, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Your card?" + evil + invisible})
			if err != nil {
				return nil, err
			}
			return textResult(answer.Action), nil
		},
	})}}.start(t)
	b := s.operator(t)
	status, out := b.try(url.Values{"tool": {"s__ask"}})
	if status != http.StatusOK || textOf(t, out) != "decline" || len(out.Answer.Notes) != 1 ||
		!strings.Contains(out.Answer.Notes[0], "s asked, and the page declined: ") ||
		!strings.Contains(out.Answer.Notes[0], "Your card?") {
		t.Error(status, out)
	}
	_, text := b.post("/try/call", url.Values{"tool": {"s__ask"}})
	checkHarmless(t, text)
}

// answerImage matches an image that the page itself shows.
var answerImage = regexp.MustCompile(`<img class="result" src="data:image/png;base64,[A-Za-z0-9+/=]+" alt="[^"<>]+">`)

// checkHarmless checks that a page shows evil and invisible as text.
func checkHarmless(t *testing.T, text string) {
	t.Helper()
	checkMarkup(t, answerImage.ReplaceAllString(text, ""))
	if strings.Contains(text, "<script>alert") || strings.Contains(text, "<img src=x") || strings.ContainsAny(text, "\x1b\u202e") {
		t.Error("hostile text is not escaped:", text)
	}
	if !strings.Contains(text, "&lt;script&gt;") {
		t.Error("hostile text is not shown:", text)
	}
}

// A call ends after the time of the form, and when the visitor leaves.
func TestACallEnds(t *testing.T) {
	began, ended := make(chan bool, 2), make(chan bool, 2)
	s := serving{servers: map[string]*mcp.Server{"s": toolServer(tool{
		Tool: mcp.Tool{Name: "wait"},
		answer: func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			began <- true
			<-ctx.Done()
			ended <- true
			return nil, ctx.Err()
		},
	})}}.start(t)
	b := s.operator(t)
	status, text := b.post("/try/call", url.Values{"tool": {"s__wait"}, "wait": {"1"}})
	if status != http.StatusUnprocessableEntity || !strings.Contains(text, "no answer within 1s: the call is cancelled") {
		t.Error(status, text)
	}
	<-began
	<-ended
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/try/call", strings.NewReader("tool=s__wait"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Origin": {s.url}, "Accept": {"text/html"}, "Content-Type": {"application/x-www-form-urlencoded"}}
	go func() {
		<-began
		cancel()
	}()
	if res, err := b.web.Do(r); err == nil {
		res.Body.Close()
		t.Error("it is answered:", res.Status)
	}
	<-ended
}

// At the end of "indus serve", a call of the page has the time of other calls to end, and its visitor gets the answer.
func TestTheEndOfServeWaitsForACall(t *testing.T) {
	began, release := make(chan bool), make(chan bool)
	d := newDesk(t, deskOptions{servers: map[string]*mcp.Server{"s": toolServer(tool{
		Tool: mcp.Tool{Name: "slow"},
		answer: func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			began <- true
			select {
			case <-release:
				return textResult("it is done"), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
	})}})
	b := d.browse()
	answer, drained := make(chan string, 1), make(chan error, 1)
	go func() { answer <- b.submit("/try/call", "tool", "s__slow") }()
	<-began
	d.site.Close() // as "indus serve" does at its first signal
	go func() { drained <- d.gateway.Drain(t.Context()) }()
	for { // until Drain has begun
		_, err := d.gateway.Call(t.Context(), "", &interop.Client{}, "s__none", json.RawMessage(`{}`))
		if strings.Contains(err.Error(), "takes no new calls") {
			break
		}
	}
	select {
	case err := <-drained:
		t.Error("Drain has not waited:", err)
	default:
	}
	release <- true
	wants(t, <-answer, "it is done")
	if err := <-drained; err != nil {
		t.Error(err)
	}
}

func TestAnAnswerIsShown(t *testing.T) {
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("é", 100_000)
	answers := map[string]*mcp.CallToolResult{
		"media": {Content: []mcp.Content{
			&mcp.ImageContent{Data: picture.Bytes(), MIMEType: "image/png"},
			&mcp.ImageContent{Data: []byte("<svg onload=alert(1)>"), MIMEType: "image/svg+xml"},
			&mcp.ImageContent{Data: []byte("<script>alert(1)</script>"), MIMEType: "image/png"},
			&mcp.ImageContent{Data: picture.Bytes(), MIMEType: "image/jpeg"},
			&mcp.AudioContent{Data: make([]byte, 2048), MIMEType: "audio/wav" + evil},
			&mcp.ResourceLink{URI: "javascript:alert(1)", Name: "link" + evil},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///x", Text: "embedded" + invisible}},
		}},
		"structured": {Content: []mcp.Content{&mcp.TextContent{Text: "t"}}, StructuredContent: map[string]any{"a": []any{1, evil}}},
		"failed":     {IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: evil + invisible + "\n\tsecond"}}},
		"long":       {Content: []mcp.Content{&mcp.TextContent{Text: "begin" + long + "end"}}},
		"many":       {Content: slicesOf(1000, &mcp.TextContent{Text: strings.Repeat("x", 100)})},
		"empty":      {Content: []mcp.Content{}},
	}
	var tools []tool
	for name, r := range answers {
		tools = append(tools, tool{Tool: mcp.Tool{Name: name}, answer: func(
			context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return r, nil
		}})
	}
	s := serving{servers: map[string]*mcp.Server{"s": toolServer(tools...)}}.start(t)
	b := s.operator(t)
	show := func(name string) string {
		t.Helper()
		status, text := b.post("/try/call", url.Values{"tool": {"s__" + name}})
		if status != http.StatusOK {
			t.Fatal(name, status, text)
		}
		return text
	}
	media := show("media")
	if strings.Count(media, "<img") != 1 || !strings.Contains(media, `<img class="result" src="data:image/png;base64,iVBOR`) ||
		!strings.Contains(media, `alt="Image of the tool, image/png, `) {
		t.Error("the images:", media)
	}
	for _, want := range []string{"[image image/svg+xml 21 bytes]", "[image image/jpeg ", "audio/wav", "2.0 KiB]", "[link ", "embedded"} {
		if !strings.Contains(media, want) {
			t.Errorf("no %s in %s", want, media)
		}
	}
	if strings.Contains(media, `href="javascript`) || strings.Contains(media, "svg onload") {
		t.Error(media)
	}
	checkHarmless(t, media)
	structured := show("structured")
	if !strings.Contains(structured, "Structured content") || !strings.Contains(structured, "{\n  &#34;a&#34;: [\n    1,") {
		t.Error(structured)
	}
	failed := show("failed")
	checkHarmless(t, failed)
	if !strings.Contains(failed, "The tool reports an error") || !strings.Contains(failed, `\u{1b}[31mred\u{202e}`+"gnp.exe\n\tsecond") {
		t.Error(failed)
	}
	if text := show("long"); len(text) > 100_000 || !strings.Contains(text, "in the middle are left out") ||
		!strings.Contains(text, "begin") || !strings.Contains(text, "end") {
		t.Error(len(text), text)
	}
	if text := show("many"); !strings.Contains(text, "900 further parts") {
		t.Error(text)
	}
	if text := show("empty"); !strings.Contains(text, "The answer is empty") {
		t.Error(text)
	}
	if _, out := b.try(url.Values{"tool": {"s__failed"}}); !out.Answer.IsError || out.Answer.Bytes == 0 {
		t.Error(out)
	}
}

func slicesOf(n int, one mcp.Content) (all []mcp.Content) {
	for range n {
		all = append(all, one)
	}
	return all
}

// Names, texts and schemas of a hostile server are text, whatever they are.
func TestHostileToolsAreShown(t *testing.T) {
	quoted, err := json.Marshal(evil + invisible)
	if err != nil {
		t.Fatal(err)
	}
	q := string(quoted)
	deep := strings.Repeat(`{"type":"object","properties":{"a":`, 60) + `{}` + strings.Repeat(`}}`, 60)
	schemas := []string{
		`{"type":"object","properties":{` + q + `:{"type":"string","title":` + q + `,"description":` + q + `,"default":` + q +
			`,"examples":[` + q + `]},"e":{"enum":[` + q + `,"x"]},"n":{"type":"number","minimum":1e99,"default":` + q + `},` +
			`"p":{"type":"object","properties":{` + q + `:{"type":"array","items":{"type":"string"},"default":[` + q + `]}}},` +
			`"t":{"type":` + q + `}},"required":[` + q + `,"e","n"]}`,
		`{"type":"object","properties":{"a":{"$ref":"#"},"b":{"$ref":"#/properties/b"},"c":{"$ref":"#/none"}}}`,
		`{"type":"object","properties":{"a":7,"b":[],"c":{"type":"array","items":7}},"required":7}`,
		`{"type":"object","anyOf":[{"$ref":"#"}],"properties":{"a":{"anyOf":[{"$ref":"#/properties/a"}]}}}`,
		deep,
	}
	var tools []tool
	for i, schema := range schemas {
		tools = append(tools, tool{Tool: mcp.Tool{Name: fmt.Sprint("t", i), Title: evil, Description: evil + invisible}, schema: schema})
	}
	s := serving{servers: map[string]*mcp.Server{"s": toolServer(tools...)}}.start(t)
	b := s.operator(t)
	_, text := b.get("/try")
	checkHarmless(t, text)
	type list struct{ Tools []struct{ Name string } }
	shown := decode[list](t, b, "/try").Tools
	if len(shown) != len(schemas) {
		t.Errorf("%d tools are listed: %v", len(shown), shown)
	}
	for _, one := range shown {
		status, text := b.get("/try?tool=" + url.QueryEscape(one.Name))
		if status != http.StatusOK {
			t.Error(one.Name, status, text)
		}
		checkHarmless(t, text)
		status, text = b.post("/try/call", url.Values{"tool": {one.Name}, "args": {"{" + q + ":" + q + "}"}, "force": {"yes"}})
		if status != http.StatusOK {
			t.Error(one.Name, status, text)
		}
		checkHarmless(t, text)
	}
	for _, path := range []string{"/try?tool=" + url.QueryEscape(evil), "/try?q=" + url.QueryEscape(evil), "/try?server=" + url.QueryEscape(evil)} {
		if _, text := b.get(path); strings.Contains(text, "<script>alert") {
			t.Error(path, text)
		}
	}
}

// 50 servers with 2,000 tools stay usable.
func TestManyTools(t *testing.T) {
	servers := map[string]*mcp.Server{}
	for i := range 50 {
		var tools []tool
		for j := range 40 {
			tools = append(tools, tool{Tool: mcp.Tool{Name: fmt.Sprintf("t%d", j), Description: fmt.Sprintf("Does thing %d of %d.", j, i)}})
		}
		servers[fmt.Sprintf("s%d", i)] = toolServer(tools...)
	}
	b := serving{servers: servers}.start(t).operator(t)
	type list struct {
		Total   int
		Tools   []struct{ Name, Summary string }
		Servers []struct{ Tools int }
	}
	for query, want := range map[string][2]int{
		"": {2000, 100}, "?server=s7": {40, 40}, "?q=s7__t3": {11, 11}, "?q=THING+39+of+4&server=s49": {1, 1}, "?q=none": {0, 0},
	} {
		all := decode[list](t, b, "/try"+query)
		if all.Total != want[0] || len(all.Tools) != want[1] || len(all.Servers) != 50 || all.Servers[0].Tools != 40 {
			t.Errorf("%q: %d of %d tools, %d servers", query, len(all.Tools), all.Total, len(all.Servers))
		}
	}
	if _, text := b.get("/try"); len(text) > 100_000 || !strings.Contains(text, "100 of 2000 tools") {
		t.Error(len(text), text)
	}
}
