package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/testkit/peers"
	"github.com/indusagi/indus/internal/testkit/shelf"
	"github.com/indusagi/indus/toolbox"
)

// TestConformanceOfTheHost runs the official suite's server scenarios, each revision separately. testdata/conformance
// lists the scenarios that a toolbox cannot pass, with reasons. The suite fails on an entry that passes.
func TestConformanceOfTheHost(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			site := newSite(t, conformanceToolbox(), nil)
			expected, err := filepath.Abs("../testdata/conformance/server-" + revision + ".yml")
			if err != nil {
				t.Fatal(err)
			}
			report, err := peers.Conformance(t, "server", "--url", site.URL+"/mcp", "--requirements", revision,
				"--expected-failures", expected, "-o", t.TempDir())
			if err != nil {
				t.Errorf("%v\n%s", err, report)
				return
			}
			if _, summary, ok := strings.Cut(report, "=== SUMMARY ==="); ok {
				t.Log(summary)
			}
		})
	}
}

// TestTheInspectorListsAndCalls uses a client from another project.
func TestTheInspectorListsAndCalls(t *testing.T) {
	t.Parallel()
	site := newSite(t, conformanceToolbox(), nil)
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			ask := func(args ...string) string {
				out, err := peers.Inspector(t, append([]string{site.URL + "/mcp", "--transport", "http", "--protocol-era", era, "--quiet"}, args...)...)
				if err != nil {
					t.Fatal(err)
				}
				return out
			}
			if out := ask("--method", "tools/list"); !strings.Contains(out, "json_schema_2020_12_tool") {
				t.Error(out)
			}
			if out := ask("--method", "tools/call", "--tool-name", "test_header_param", "--tool-arg", "region=us-west1"); !strings.Contains(out, `us-west1`) {
				t.Error(out)
			}
		})
	}
}

const onePixel = `"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="`

// conformanceToolbox returns the tools that the suite expects by name.
func conformanceToolbox() toolbox.Source {
	reg := toolbox.NewRegistry(nil)
	image := shelf.Media(`{"type":"image","data":` + onePixel + `,"mimeType":"image/png"}`)
	add := func(name string, run func(context.Context, *toolbox.Context, json.RawMessage) (*toolbox.Result, error)) {
		reg.Add(toolbox.Tool{Name: name, Description: "a fixture of the conformance suite", Run: run})
	}
	gives := func(name string, blocks ...toolbox.Block) {
		add(name, func(context.Context, *toolbox.Context, json.RawMessage) (*toolbox.Result, error) {
			return toolbox.NewResult(blocks...), nil
		})
	}
	gives("test_simple_text", toolbox.Text("This is a simple text response for testing."))
	gives("test_image_content", image)
	gives("test_audio_content", shelf.Media(`{"type":"audio","data":"UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=","mimeType":"audio/wav"}`))
	gives("test_embedded_resource", shelf.Media(`{"type":"resource","resource":{"uri":"test://embedded-resource","mimeType":"text/plain","text":"This is an embedded resource content."}}`))
	gives("test_multiple_content_types", toolbox.Text("Multiple content types test:"), image,
		shelf.Media(`{"type":"resource","resource":{"uri":"test://mixed-content-resource","mimeType":"application/json","text":"{\"test\":\"data\",\"value\":123}"}}`))
	gives("test_logging_tool", toolbox.Text("nothing is logged"))
	gives("test_streaming_elicitation", toolbox.Text("nothing is asked"))
	add("test_error_handling", func(context.Context, *toolbox.Context, json.RawMessage) (*toolbox.Result, error) {
		return nil, errors.New("This tool intentionally returns an error for testing") //nolint:staticcheck // the suite's own words
	})
	add("test_tool_with_progress", func(_ context.Context, tc *toolbox.Context, _ json.RawMessage) (*toolbox.Result, error) {
		for _, done := range []float64{0, 50, 100} {
			tc.Report(toolbox.Progress{Done: done, Total: 100})
		}
		return toolbox.NewResult(toolbox.Text("done")), nil
	})
	add("test_trigger_tool_change", func(context.Context, *toolbox.Context, json.RawMessage) (*toolbox.Result, error) {
		gives("test_dynamic_tool", toolbox.Text("I am new here"))
		return nil, nil
	})
	reg.Add(toolbox.Tool{Name: "test_header_param", Description: "an argument that is repeated in a header",
		Schema: json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}},"required":["region"]}`),
		Run: func(_ context.Context, _ *toolbox.Context, in json.RawMessage) (*toolbox.Result, error) {
			return toolbox.NewResult(toolbox.JSON(in)), nil
		}})
	reg.Add(toolbox.Tool{Name: "json_schema_2020_12_tool", Description: "a schema with the whole vocabulary",
		Schema: json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`),
		Run: func(context.Context, *toolbox.Context, json.RawMessage) (*toolbox.Result, error) {
			return nil, nil
		}})
	return reg
}
