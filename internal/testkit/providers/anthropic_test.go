package providers_test

import (
	"encoding/json"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/indusagi/indus/schema"
)

var anthropicProfiles = []*schema.Profile{schema.Anthropic, schema.AnthropicStrict, schema.Universal, schema.Flat}

// TestAnthropic sends the schema in each of the three ways of the SDK. With raw values, field by field or as a whole,
// it arrives unchanged. If the SDK decodes it, it loses the order of its properties.
func TestAnthropic(t *testing.T) {
	for _, way := range []struct {
		name  string
		input func(*testing.T, json.RawMessage) anthropic.ToolInputSchemaParam
		how   lines
	}{
		{"fields", anthropicFields, lines{ordered: true}},
		{"whole", anthropicWhole, lines{ordered: true}},
		{"decoded", anthropicDecoded, lines{doubles: true}},
	} {
		for _, p := range anthropicProfiles {
			t.Run(way.name+"/"+p.Name(), func(t *testing.T) {
				tools := adapted(t, p)
				params := make([]anthropic.ToolUnionParam, len(tools))
				for i, one := range tools {
					params[i].OfTool = &anthropic.ToolParam{Name: one.Name, InputSchema: way.input(t, one.Schema)}
					if one.Description != "" {
						params[i].OfTool.Description = anthropic.String(one.Description)
					}
				}
				check(t, tools, sendAnthropic(t, params), way.how)
			})
		}
	}
}

// anthropicFields also writes the type, which the SDK would add. If a schema has only a type, the SDK would otherwise
// leave out the whole input_schema, and the API would refuse the request.
func anthropicFields(t *testing.T, raw json.RawMessage) anthropic.ToolInputSchemaParam {
	var members map[string]json.RawMessage
	decode(t, "adapted", raw, &members)
	var p anthropic.ToolInputSchemaParam
	for name, value := range members {
		switch name {
		case "type":
			decode(t, "type", value, &p.Type)
		case "properties":
			p.Properties = value
		case "required":
			decode(t, "required", value, &p.Required)
		default:
			if p.ExtraFields == nil {
				p.ExtraFields = map[string]any{}
			}
			p.ExtraFields[name] = value
		}
	}
	return p
}

func anthropicWhole(_ *testing.T, raw json.RawMessage) anthropic.ToolInputSchemaParam {
	return param.Override[anthropic.ToolInputSchemaParam](raw)
}

func anthropicDecoded(t *testing.T, raw json.RawMessage) anthropic.ToolInputSchemaParam {
	var p anthropic.ToolInputSchemaParam
	decode(t, "adapted", raw, &p)
	return p
}

func sendAnthropic(t *testing.T, tools []anthropic.ToolUnionParam) []arrived {
	t.Helper()
	e := serve(t, `{"id":"m","type":"message","role":"assistant","model":"m","content":[],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`)
	client := anthropic.NewClient(option.WithBaseURL(e.URL), option.WithAPIKey("none"), option.WithHTTPClient(e.Client()),
		option.WithMaxRetries(0))
	_, err := client.Messages.New(t.Context(), anthropic.MessageNewParams{
		Model: "m", MaxTokens: 1, Tools: tools,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hello"))},
	})
	if err != nil {
		t.Fatal(err)
	}
	var body struct {
		Tools []struct {
			Name, Description string
			Input             json.RawMessage `json:"input_schema"`
		}
	}
	e.received(t, &body)
	got := make([]arrived, len(body.Tools))
	for i, one := range body.Tools {
		got[i] = arrived{one.Name, one.Description, one.Input}
	}
	return got
}
