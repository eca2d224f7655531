package providers_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"

	"github.com/indusagi/indus/agent"
	anthropicclient "github.com/indusagi/indus/agent/anthropic"
	openaiclient "github.com/indusagi/indus/agent/openai"
	"github.com/indusagi/indus/internal/testkit/modelserver"
	"github.com/indusagi/indus/toolbox"
)

// judge is an official SDK that checks one of our clients.
type judge struct {
	name   string
	client func(url string) agent.Provider
	// again decodes a request into the SDK's types, and sends them with the SDK. It returns the response as the SDK
	// reads it.
	again func(t *testing.T, url string, body []byte) read
}

// read is a response as a client reads it.
type read struct {
	Text, Stop string
	Calls      []agent.Call
	Usage      agent.Usage
}

var judges = []judge{
	{"anthropic", func(url string) agent.Provider {
		return anthropicclient.New("m", &anthropicclient.Options{BaseURL: url})
	}, againAnthropic},
	{"openai", func(url string) agent.Provider {
		return openaiclient.New("m", &openaiclient.Options{BaseURL: url, Provider: "openai"})
	}, againOpenAI},
	{"compatible", func(url string) agent.Provider { return openaiclient.New("m", &openaiclient.Options{BaseURL: url}) }, againOpenAI},
}

// TestRequestsAreTheSDKs decodes each request of our clients into the types of the official SDK, which drop unknown
// members, and sends these with the SDK. Both bodies must be equal. The SDK must also read the same values from the
// response.
func TestRequestsAreTheSDKs(t *testing.T) {
	for _, j := range judges {
		for name, r := range conversations() {
			t.Run(j.name+"/"+name, func(t *testing.T) {
				s := modelserver.New(t)
				s.Func(func(modelserver.Request) modelserver.Turn { return answer() })
				reply, err := j.client(s.URL).Generate(t.Context(), r, nil)
				if err != nil {
					t.Fatal(err)
				}
				theirs := j.again(t, s.URL, s.Requests()[0].Body)
				sent := s.Requests()
				if diff := (lines{}).diff(sent[0].Body, sent[1].Body); diff != "" || sent[0].Path != sent[1].Path {
					t.Errorf("%s, by the SDK %s: -ours +the SDK's:\n%s", sent[0].Path, sent[1].Path, diff)
				}
				for _, header := range []string{"Accept", "Content-Type", "Anthropic-Version", "Authorization", "X-Api-Key"} {
					if a, b := sent[0].Header.Get(header), sent[1].Header.Get(header); a != b {
						t.Errorf("%s: %q, by the SDK %q", header, a, b)
					}
				}
				got := read{reply.Message.Text(), string(reply.Stop), reply.Message.Calls(), reply.Usage}
				if diff := cmp.Diff(theirs, got); diff != "" {
					t.Errorf("-the SDK's +ours:\n%s", diff)
				}
			})
		}
	}
}

// TestJudgesKnowTheirMembers checks that the SDKs' types drop an unknown member.
func TestJudgesKnowTheirMembers(t *testing.T) {
	body := []byte(`{"model":"m","max_tokens":1,"news":1,"messages":[{"role":"user","content":[{"type":"text","text":"x","news":1}]}]}`)
	var ofAnthropic anthropic.MessageNewParams
	var ofOpenAI openai.ChatCompletionNewParams
	for _, p := range []any{&ofAnthropic, &ofOpenAI} {
		decode(t, "a request", body, p)
		again, err := json.Marshal(p)
		if want := strings.ReplaceAll(string(body), `,"news":1`, ""); err != nil ||
			(lines{}).diff(json.RawMessage(want), again) != "" {
			t.Errorf("%s, %v", again, err)
		}
	}
}

func answer() modelserver.Turn {
	return modelserver.Turn{
		Text: "Grüße 😀", Calls: []modelserver.Call{{ID: "one", Name: "shot", Input: `{"a":"<&>"}`},
			{ID: "two", Name: "shot", Input: `{}`}},
		Usage: &modelserver.Usage{Input: 900, Output: 7, CacheRead: 300},
	}
}

func conversations() map[string]agent.Request {
	said := func(parts ...agent.Part) agent.Message { return agent.Message{Role: agent.User, Parts: parts} }
	tools := []toolbox.Descriptor{
		{Name: "bare"},
		{Name: "shot", Description: "A <picture>.", Parameters: json.RawMessage(`{"type":"object","properties":{"b":{"type":"integer"},"a":{"type":"string"}},"required":["a"]}`)},
	}
	call := agent.Part{Call: &agent.Call{ID: "x", Name: "shot", Input: json.RawMessage(`{"b":1,"a":"<"}`)}}
	result := agent.Part{Result: &agent.Result{ID: "x", Name: "shot", Output: json.RawMessage(`"here"`),
		Images: []agent.Image{{MIME: "image/png", Data: []byte("png")}}}}
	failed := agent.Part{Result: &agent.Result{ID: "x", Name: "shot", Output: json.RawMessage(`""`), IsError: true}}
	talk := []agent.Message{said(agent.Part{Text: "look"}),
		{Role: agent.Assistant, Parts: []agent.Part{{Text: "I do."}, call}}}
	return map[string]agent.Request{
		"plain":   {Messages: []agent.Message{said(agent.Part{Text: "hello"})}},
		"bounded": {System: "Be brief.", MaxTokens: 77, Tools: tools, Messages: []agent.Message{said(agent.Part{Text: "hello"})}},
		"result":  {System: "Be brief.", Tools: tools, Messages: append(talk[:2:2], said(result, agent.Part{Text: "and?"}))},
		"failure": {Tools: tools, Messages: append(talk[:2:2], said(failed))},
	}
}

func againAnthropic(t *testing.T, url string, body []byte) (r read) {
	t.Helper()
	var p anthropic.MessageNewParams
	decode(t, "our request", body, &p)
	client := anthropic.NewMessageService(anthropicoption.WithoutEnvironmentDefaults(), anthropicoption.WithBaseURL(url),
		anthropicoption.WithMaxRetries(0))
	stream := client.NewStreaming(context.Background(), p)
	var m anthropic.Message
	for stream.Next() {
		if err := m.Accumulate(stream.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			r.Text += b.Text
		case "tool_use":
			r.Calls = append(r.Calls, agent.Call{ID: b.ID, Name: b.Name, Input: b.Input})
		}
	}
	r.Stop = map[anthropic.StopReason]string{anthropic.StopReasonToolUse: "calls"}[m.StopReason]
	u := m.Usage
	r.Usage = agent.Usage{Input: int(u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens),
		Output: int(u.OutputTokens), CacheRead: int(u.CacheReadInputTokens)}
	return r
}

func againOpenAI(t *testing.T, url string, body []byte) (r read) {
	t.Helper()
	var p openai.ChatCompletionNewParams
	decode(t, "our request", body, &p)
	client := openai.ChatCompletionService{Options: []openaioption.RequestOption{openaioption.WithBaseURL(url + "/v1"),
		openaioption.WithMaxRetries(0)}}
	stream := client.NewStreaming(context.Background(), p)
	var m openai.ChatCompletionAccumulator
	for stream.Next() {
		m.AddChunk(stream.Current())
	}
	if err := stream.Err(); err != nil || len(m.Choices) != 1 {
		t.Fatal(m.Choices, err)
	}
	r.Text = m.Choices[0].Message.Content
	for _, c := range m.Choices[0].Message.ToolCalls {
		r.Calls = append(r.Calls, agent.Call{ID: c.ID, Name: c.Function.Name, Input: json.RawMessage(c.Function.Arguments)})
	}
	r.Stop = map[string]string{"tool_calls": "calls"}[m.Choices[0].FinishReason]
	u := m.Usage
	r.Usage = agent.Usage{Input: int(u.PromptTokens), Output: int(u.CompletionTokens),
		CacheRead: int(u.PromptTokensDetails.CachedTokens)}
	return r
}
