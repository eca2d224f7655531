package openai_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/agent/openai"
	"github.com/indusagi/indus/internal/testkit/modelserver"
	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func model(s *modelserver.Server, o openai.Options) *openai.Model {
	o.BaseURL = s.URL
	o.HTTPClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return openai.New("m", &o)
}

func prompt(text string) agent.Request {
	return agent.Request{Messages: []agent.Message{{Role: agent.User, Parts: []agent.Part{{Text: text}}}}}
}

// events returns a stream of chunks with these deltas.
func events(chunks ...string) string {
	all := ""
	for _, c := range chunks {
		if strings.HasPrefix(c, `"`) {
			c = `{"choices":[{"index":0,"delta":{` + c + `}}]}`
		}
		all += "data: " + c + "\n\n"
	}
	return all
}

// TestCompatibleServers checks the variants of OpenAI's format that other servers send.
func TestCompatibleServers(t *testing.T) {
	t.Parallel()
	const stop, calls = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, `{"choices":[{"index":0,"delta":{"content":null},"finish_reason":"tool_calls"}]}`
	for _, c := range []struct{ name, raw, want string }{
		{"no end but the connection's", events(`"content":"a"`, stop), "a|end"},
		{"no reason", events(`"content":"a"`, `[DONE]`), "a|end"},
		{"nothing at all", events(`[DONE]`), "the answer broke off"},
		{"a comment, another line end, no space", ": OPENROUTER PROCESSING\r\n\r\ndata:{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\r\n\r\n" + events(stop), "a|end"},
		{"no choices", events(`{"choices":null,"prompt_filter_results":[]}`, `"content":"a"`, stop, `{"choices":[],"usage":null}`), "a|end"},
		{"an error of null", events(`{"error":null,"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}`), "a|end"},
		{"an error behind text", events(`"content":"a"`, `{"error":{"message":"CUDA","code":500}}`), "CUDA (HTTP 500)"},
		{"an error as a reason", events(`"content":"a"`, `{"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}`), "an error without a reason"},
		{"cut", events(`"content":"a"`, `{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`), "a|length"},
		{"filtered", events(`"content":"a"`, `{"choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}`), "a|refusal"},
		{"filtered, by Gemini", events(`"content":"a"`, `{"choices":[{"index":0,"delta":{},"finish_reason":"content_filter: PROHIBITED_CONTENT"}]}`), "a|refusal"},
		{"refused", events(`"refusal":"no"`, stop), "no|refusal"},
		{"another choice", events(`{"choices":[{"index":1,"delta":{"content":"b"}}]}`, `"content":"a"`, stop), "a|end"},
		{"whole calls in one chunk", events(`"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},{"index":1,"id":"y","function":{"name":"f","arguments":"{}"}}]`, stop), `f{"a":1} f{}|calls`},
		{"no index in one chunk", events(`"tool_calls":[{"id":"x","function":{"name":"f","arguments":"{\"a\":1}"}},{"id":"y","function":{"name":"g","arguments":"{}"}}]`, calls), `f{"a":1} g{}|calls`},
		{"index 0 always", events(`"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{}"}}]`, `"tool_calls":[{"index":0,"id":"y","function":{"name":"f","arguments":"{}"}}]`, calls), `f{} f{}|calls`},
		{"no id", events(`"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"}}]`, `"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"}}]`, calls), `f{} f{}|calls`},
		{"no id, no arguments", events(`"tool_calls":[{"function":{"name":"f"}}]`, `"tool_calls":[{"function":{"name":"g","arguments":""}}]`, calls), `f{} g{}|calls`},
		{"the id and the name again", events(`"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{\"a\""}}]`, `"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":":1}"}}]`, calls), `f{"a":1}|calls`},
		{"the same id twice", events(`"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{}"}},{"index":1,"id":"x","function":{"name":"g","arguments":"{}"}}]`, calls), `f{} g{}|calls`},
		{"a large index", events(`"tool_calls":[{"index":9000000000000000000,"id":"x","function":{"name":"f","arguments":"{}"}}]`, calls), `f{}|calls`},
		{"other types", events(`"content":7,"tool_calls":{"a":1}`, `"content":"a"`, stop), "a|end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := modelserver.New(t, modelserver.Turn{Raw: c.raw})
			r, err := model(s, openai.Options{}).Generate(t.Context(), prompt("x"), nil)
			got := r.Message.Text() + "|" + string(r.Stop)
			if err != nil {
				got = err.Error()
			}
			ids, all := map[string]bool{}, []string{}
			for _, one := range r.Message.Calls() {
				all = append(all, one.Name+string(one.Input))
				ids[one.ID] = true
			}
			if got = strings.Join(all, " ") + got; !strings.HasSuffix(got, c.want) || len(ids) != len(all) || ids[""] {
				t.Errorf("%s, want %s (%v)", got, c.want, ids)
			}
		})
	}
}

func TestReasoningAndSignaturesGoBack(t *testing.T) {
	t.Parallel()
	s := modelserver.New(t,
		modelserver.Turn{Raw: events(`"reasoning":"Let "`, `"reasoning":"me","reasoning_content":"me"`,
			`"tool_calls":[{"index":0,"id":"x","extra_content":{"google":{"thought_signature":"sig"}},"function":{"name":"f","arguments":"{}"}}]`, `[DONE]`)},
		modelserver.Turn{Text: "ok"}, modelserver.Turn{Text: "ok"})
	m, r := model(s, openai.Options{}), prompt("x")
	reasoning := ""
	first, err := m.Generate(t.Context(), r, func(p agent.Piece) { reasoning += p.Reasoning })
	if err != nil || reasoning != "Let me" {
		t.Fatal(reasoning, err)
	}
	r.Messages = append(r.Messages, first.Message, agent.Message{Role: agent.User, Parts: []agent.Part{{Result: &agent.Result{ID: "x", Output: json.RawMessage(`1`)}}}})
	for i, p := range []*openai.Model{m, model(s, openai.Options{Provider: "another"})} {
		if _, err := p.Generate(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
		body := string(s.Requests()[1+i].Body)
		for _, want := range []string{`"reasoning":"Let me"`, `"extra_content":{"google":{"thought_signature":"sig"}}`} {
			if strings.Contains(body, want) != (i == 0) {
				t.Errorf("%d: %s in %s", i, want, body)
			}
		}
	}
}

func TestTheRequest(t *testing.T) {
	t.Parallel()
	s := modelserver.New(t, modelserver.Turn{Text: "ok"})
	r := agent.Request{System: "Be brief.", Messages: []agent.Message{
		{Role: agent.User, Parts: []agent.Part{{Text: "look"}}},
		{Role: agent.Assistant, Parts: []agent.Part{{Text: "I do."}, {Call: &agent.Call{ID: "x", Name: "shot", Input: json.RawMessage(`{"b":1, "a":"<"}`)}}}},
		{Role: agent.User, Parts: []agent.Part{{Result: &agent.Result{ID: "x", Name: "shot", Output: json.RawMessage(`"here"`), Images: []agent.Image{{MIME: "image/png", Data: []byte("png")}}}}}},
	}, Tools: []toolbox.Descriptor{{Name: "shot", Description: "A picture.", Parameters: json.RawMessage(`{"type":"object","properties":{"b":{"type":"integer"},"a":{"type":"string"}},"required":["a"]}`)}, {Name: "bare"}}}
	if _, err := model(s, openai.Options{}).Generate(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
	const want = `{"messages":[{"content":"Be brief.","role":"system"},{"content":"look","role":"user"},` +
		`{"content":"I do.","role":"assistant","tool_calls":[{"function":{"arguments":"{\"b\":1, \"a\":\"<\"}","name":"shot"},"id":"x","type":"function"}]},` +
		`{"content":"here","role":"tool","tool_call_id":"x"},` +
		`{"content":[{"text":"An image from shot:","type":"text"},{"image_url":{"url":"data:image/png;base64,cG5n"},"type":"image_url"}],"role":"user"}],` +
		`"model":"m","stream":true,"stream_options":{"include_usage":true},"tools":[{"function":{"description":"A picture.","name":"shot",` +
		`"parameters":{"properties":{"b":{"type":"integer"},"a":{"type":"string"}},"required":["a"],"type":"object"}},"type":"function"},` +
		`{"function":{"name":"bare","parameters":{"properties":{},"type":"object"}},"type":"function"}]}`
	var sent, wanted any
	if json.Unmarshal(s.Requests()[0].Body, &sent) != nil || json.Unmarshal([]byte(want), &wanted) != nil || cmp.Diff(wanted, sent) != "" {
		t.Error(cmp.Diff(wanted, sent))
	}
	if !strings.Contains(string(s.Requests()[0].Body), `"properties":{"b":{"type":"integer"},"a":`) {
		t.Error("the order of the properties is lost")
	}
}

// TestTextsOfAUser checks that texts are separated. The first of two prompts may have had no answer.
func TestTextsOfAUser(t *testing.T) {
	t.Parallel()
	s := modelserver.New(t, modelserver.Turn{Text: "ok"})
	r := prompt("The files are in docs")
	r.Messages[0].Parts = append(r.Messages[0].Parts, agent.Part{Text: "Delete nothing"})
	if _, err := model(s, openai.Options{}).Generate(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
	if body := string(s.Requests()[0].Body); !strings.Contains(body, `"The files are in docs\n\nDelete nothing"`) {
		t.Error(body)
	}
}

func TestAModelThatSeesNoImages(t *testing.T) {
	t.Parallel()
	s := modelserver.New(t, modelserver.Turn{Status: 500, Text: "image input is not supported"}, modelserver.Turn{Text: "ok"}, modelserver.Turn{Text: "ok"})
	r := prompt("look")
	r.Messages = append(r.Messages, agent.Message{Role: agent.Assistant, Parts: []agent.Part{{Call: &agent.Call{ID: "x", Name: "shot"}}}},
		agent.Message{Role: agent.User, Parts: []agent.Part{{Result: &agent.Result{ID: "x", Output: json.RawMessage(`"here"`), Images: []agent.Image{{MIME: "image/png", Data: []byte("png")}}}}}})
	m := model(s, openai.Options{})
	for range 2 {
		if _, err := m.Generate(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
	}
	for i, sent := range s.Requests() {
		if strings.Contains(string(sent.Body), "image_url") != (i == 0) || strings.Contains(string(sent.Body), "cannot see") != (i > 0) {
			t.Errorf("%d: %s", i, sent.Body)
		}
	}
}

func TestWhoItIs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		model   string
		o       openai.Options
		name    string
		profile *schema.Profile
	}{
		{"gpt-5", openai.Options{}, "openai/gpt-5", schema.OpenAI},
		{"qwen3:8b", openai.Options{BaseURL: "http://127.0.0.1:11434/v1"}, "ollama/qwen3:8b", schema.Ollama},
		{"m", openai.Options{BaseURL: "http://192.168.0.2:8080", Provider: "ollama"}, "ollama/m", schema.Ollama},
		{"x/y", openai.Options{BaseURL: "https://openrouter.ai/api/v1"}, "openrouter.ai/x/y", schema.Universal},
	} {
		if m := openai.New(c.model, &c.o); m.Name() != c.name || m.Profile() != c.profile {
			t.Errorf("%s %s, want %s %s", m.Name(), m.Profile().Name(), c.name, c.profile.Name())
		}
	}
}
