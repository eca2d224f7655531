package providers_test

import (
	"encoding/json"
	"testing"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/indusagi/indus/schema"
)

// openAIProfiles lists the profiles of the providers with OpenAI's API.
var openAIProfiles = []*schema.Profile{
	schema.OpenAI, schema.OpenAIStrict, schema.Mistral, schema.Moonshot, schema.Universal, schema.Flat,
}

// openAIWays lists the ways to make the SDK's map from a schema. If its values are raw JSON, the schema arrives
// unchanged. If they are decoded, the properties lose their order, and numbers become doubles.
var openAIWays = []struct {
	name       string
	parameters func(*testing.T, json.RawMessage) map[string]any
	how        lines
}{
	{"raw", openAIRaw, lines{ordered: true}},
	{"decoded", openAIDecoded, lines{doubles: true}},
}

func openAIRaw(t *testing.T, raw json.RawMessage) map[string]any {
	var members map[string]json.RawMessage
	decode(t, "adapted", raw, &members)
	p := make(map[string]any, len(members))
	for name, value := range members {
		p[name] = value
	}
	return p
}

func openAIDecoded(t *testing.T, raw json.RawMessage) map[string]any {
	var p map[string]any
	decode(t, "adapted", raw, &p)
	return p
}

// TestOpenAIResponses sends the tools in a request to the responses API.
func TestOpenAIResponses(t *testing.T) {
	for _, way := range openAIWays {
		for _, p := range openAIProfiles {
			t.Run(way.name+"/"+p.Name(), func(t *testing.T) {
				tools := adapted(t, p)
				params := make([]responses.ToolUnionParam, len(tools))
				for i, one := range tools {
					params[i].OfFunction = &responses.FunctionToolParam{
						Name:        one.Name,
						Description: described(one),
						Parameters:  way.parameters(t, one.Schema),
						Strict:      param.NewOpt(p == schema.OpenAIStrict),
					}
				}
				check(t, tools, sendResponses(t, params), way.how)
			})
		}
	}
}

// TestOpenAIChat encodes the function of chat completions, without sending it. TestRequestsAreTheSDKs sends whole
// requests.
func TestOpenAIChat(t *testing.T) {
	for _, way := range openAIWays {
		for _, p := range openAIProfiles {
			t.Run(way.name+"/"+p.Name(), func(t *testing.T) {
				tools := adapted(t, p)
				got := make([]arrived, len(tools))
				for i, one := range tools {
					sent, err := json.Marshal(shared.FunctionDefinitionParam{
						Name:        one.Name,
						Description: described(one),
						Parameters:  way.parameters(t, one.Schema),
						Strict:      param.NewOpt(p == schema.OpenAIStrict),
					})
					if err != nil {
						t.Fatalf("%s: %v", one.From, err)
					}
					var f openAIFunction
					decode(t, one.From, sent, &f)
					got[i] = arrived(f)
				}
				check(t, tools, got, way.how)
			})
		}
	}
}

func described(one tool) param.Opt[string] {
	if one.Description == "" {
		return param.Opt[string]{}
	}
	return param.NewOpt(one.Description)
}

// openAIFunction is a function in both APIs of OpenAI.
type openAIFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"parameters"`
}

func sendResponses(t *testing.T, tools []responses.ToolUnionParam) []arrived {
	t.Helper()
	e := serve(t, `{"id":"r","object":"response","created_at":1,"model":"m","status":"completed","output":[]}`)
	client := responses.NewResponseService(
		option.WithBaseURL(e.URL), option.WithAPIKey("none"), option.WithHTTPClient(e.Client()), option.WithMaxRetries(0))
	_, err := client.New(t.Context(), responses.ResponseNewParams{
		Model: "m", Tools: tools, Input: responses.ResponseNewParamsInputUnion{OfString: param.NewOpt("hello")},
	})
	if err != nil {
		t.Fatal(err)
	}
	var body struct{ Tools []openAIFunction }
	e.received(t, &body)
	got := make([]arrived, len(body.Tools))
	for i, f := range body.Tools {
		got[i] = arrived(f)
	}
	return got
}
