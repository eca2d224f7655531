package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/indusagi/indus/internal/testkit/fixture"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
)

// TestMain runs the tests, or runs the server of [asker] on stdio.
func TestMain(m *testing.M) {
	if os.Getenv("INDUS_ASKER") != "" {
		if err := asker().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	fixture.Main(m)
}

// refused lists the tools of go-sdk's conformance server that send questions in the way of 2025-11-25, by the scenarios
// that call them. In the modern era they return an error to every caller.
func refused() map[string]string {
	return map[string]string{
		"tools-call-sampling":          "test_sampling",
		"tools-call-elicitation":       "test_elicitation",
		"elicitation-sep1034-defaults": "test_elicitation_sep1034_defaults",
		"elicitation-sep1330-enums":    "test_elicitation_sep1330_enums",
	}
}

// asker returns a server with the same tools. They ask in the way of 2026-07-28: by their results.
func asker() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "asker", Version: "1"}, nil)
	add := func(scenario string, question func(params map[string]any) mcp.InputRequest) {
		mcp.AddTool(s, &mcp.Tool{Name: refused()[scenario], Description: "asks for input, by its result"},
			func(_ context.Context, req *mcp.CallToolRequest, in map[string]any) (*mcp.CallToolResult, any, error) {
				answer, ok := req.Params.InputResponses["question"]
				if !ok {
					return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"question": question(in)}, RequestState: "asked"},
						nil, nil
				}
				b, err := json.Marshal(answer)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("the answer is %s", b)}}},
					nil, err
			})
	}
	add("tools-call-sampling", func(in map[string]any) mcp.InputRequest {
		text := &mcp.TextContent{Text: fmt.Sprint(in["prompt"])}
		//lint:ignore SA1019 sampling is deprecated, and there for as long as its peers are
		return &mcp.CreateMessageParams{Messages: []*mcp.SamplingMessage{{Role: "user", Content: text}}, MaxTokens: 100}
	})
	form := func(scenario, schema string) {
		add(scenario, func(in map[string]any) mcp.InputRequest {
			return &mcp.ElicitParams{Message: fmt.Sprint(in["message"]), RequestedSchema: json.RawMessage(schema)}
		})
	}
	form("tools-call-elicitation",
		`{"type":"object","properties":{"username":{"type":"string"},"email":{"type":"string"}},"required":["username","email"]}`)
	form("elicitation-sep1034-defaults",
		`{"type":"object","properties":{"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},
		"score":{"type":"number","default":95.5},"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},
		"verified":{"type":"boolean","default":true}}}`)
	const titled = `[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]`
	form("elicitation-sep1330-enums", `{"type":"object","properties":{
		"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
		"titledSingle":{"type":"string","oneOf":`+titled+`},
		"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
		"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]},"minItems":1,"maxItems":3},
		"titledMulti":{"type":"array","items":{"anyOf":`+titled+`},"minItems":1,"maxItems":3}}}`)
	return s
}

func askerOnStdio() config.Stdio {
	return config.Stdio{Command: os.Args[0], Env: []config.Pair{{Name: "INDUS_ASKER", Value: config.NewSecret("1")}}}
}

// throughAsker returns the URL of a gateway before an asker, over stdio or HTTP.
func throughAsker(t *testing.T, stdio bool, through front) string {
	t.Helper()
	if stdio {
		return through(t, interop.Modern, askerOnStdio())
	}
	s := asker()
	site := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(site.Close)
	return through(t, interop.Modern, config.HTTP{URL: site.URL})
}
