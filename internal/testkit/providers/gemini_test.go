package providers_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"google.golang.org/genai"

	"github.com/indusagi/indus/schema"
)

// TestGeminiParameters sends the schema as genai.Schema, which has a field only for each keyword of the API. Its
// properties are a map, on the wire as in the API, so their order is lost. Its numbers are float64 or int64. It leaves
// out empty values: empty properties, which the API cannot distinguish from missing ones, and a default of null.
func TestGeminiParameters(t *testing.T) {
	how := lines{doubles: true, forgiven: []string{"/properties = empty {", "/default = null"}}
	for _, p := range []*schema.Profile{schema.Gemini, schema.Universal, schema.Flat} {
		t.Run(p.Name(), func(t *testing.T) {
			tools := adapted(t, p)
			declared := make([]*genai.FunctionDeclaration, len(tools))
			for i, one := range tools {
				d := json.NewDecoder(bytes.NewReader(one.Schema))
				d.DisallowUnknownFields()
				s := &genai.Schema{}
				if err := d.Decode(s); err != nil {
					t.Errorf("%s %s: %v", one.From, one.Name, err)
				}
				declared[i] = &genai.FunctionDeclaration{Name: one.Name, Description: one.Description, Parameters: s}
			}
			check(t, tools, sendGemini(t, declared), how)
		})
	}
}

// TestGeminiJSONSchema sends the schema as the JSON value for parametersJsonSchema. The SDK decodes even raw values, so
// the order of the properties and the digits of the numbers are lost.
func TestGeminiJSONSchema(t *testing.T) {
	for _, p := range []*schema.Profile{schema.GeminiJSONSchema, schema.Universal, schema.Flat} {
		t.Run(p.Name(), func(t *testing.T) {
			tools := adapted(t, p)
			declared := make([]*genai.FunctionDeclaration, len(tools))
			for i, one := range tools {
				declared[i] = &genai.FunctionDeclaration{Name: one.Name, Description: one.Description,
					ParametersJsonSchema: one.Schema}
			}
			check(t, tools, sendGemini(t, declared), lines{doubles: true})
		})
	}
}

func sendGemini(t *testing.T, declared []*genai.FunctionDeclaration) []arrived {
	t.Helper()
	e := serve(t, `{"candidates":[{"content":{"role":"model","parts":[{"text":"hello"}]},"finishReason":"STOP"}]}`)
	client, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		APIKey: "none", Backend: genai.BackendGeminiAPI, HTTPClient: e.Client(),
		HTTPOptions: genai.HTTPOptions{BaseURL: e.URL},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Models.GenerateContent(t.Context(), "m", genai.Text("hello"), &genai.GenerateContentConfig{
		Tools: []*genai.Tool{{FunctionDeclarations: declared}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var body struct {
		Tools []struct {
			FunctionDeclarations []struct {
				Name, Description    string
				Parameters           json.RawMessage
				ParametersJSONSchema json.RawMessage `json:"parametersJsonSchema"`
			}
		}
	}
	e.received(t, &body)
	var got []arrived
	for _, group := range body.Tools {
		for _, one := range group.FunctionDeclarations {
			a := arrived{one.Name, one.Description, one.Parameters}
			if one.ParametersJSONSchema != nil {
				a.Schema = one.ParametersJSONSchema
			}
			got = append(got, a)
		}
	}
	return got
}
