package schema_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/indusagi/indus/schema"
)

// BenchmarkAdaptBesideDecoding adapts 1,000 tools for every provider, and decodes the same list with the SDK.
// adapt/decode is the ratio of the two times in one run. Mounting should cost no more than listing.
func BenchmarkAdaptBesideDecoding(b *testing.B) {
	for _, kind := range []struct {
		name  string
		tools []listedTool
	}{
		{"servers", thousand(b, serversOnly(b))},
		{"corpus", thousand(b, corpus(b))},
	} {
		b.Run(kind.name, func(b *testing.B) {
			message := listed(b, kind.tools)
			b.SetBytes(int64(len(message)))
			b.ReportAllocs()
			var adapting, decoding time.Duration
			for b.Loop() {
				start := time.Now()
				for _, tool := range kind.tools {
					_, _ = schema.Adapt(tool.InputSchema, schema.Universal)
				}
				middle := time.Now()
				decodeList(b, message)
				adapting += middle.Sub(start)
				decoding += time.Since(middle)
			}
			n := float64(b.N)
			b.ReportMetric(float64(adapting.Milliseconds())/n, "adapt-ms")
			b.ReportMetric(float64(decoding.Milliseconds())/n, "decode-ms")
			b.ReportMetric(float64(adapting)/float64(decoding), "adapt/decode")
		})
	}
}

// decodeList decodes a list as the SDK's client does: first the message, then its result.
func decodeList(b *testing.B, message []byte) {
	m, err := jsonrpc.DecodeMessage(message)
	if err != nil {
		b.Fatal(err)
	}
	var result mcp.ListToolsResult
	if err := json.Unmarshal(m.(*jsonrpc.Response).Result, &result); err != nil {
		b.Fatal(err)
	}
}

// thousand repeats the specimens until there are 1,000 tools.
func thousand(b *testing.B, from []specimen) []listedTool {
	tools := make([]listedTool, 1000)
	for i := range tools {
		s := from[i%len(from)]
		var compact bytes.Buffer
		if err := json.Compact(&compact, s.schema); err != nil {
			b.Fatal(err)
		}
		tools[i] = listedTool{
			Name:        fmt.Sprintf("tool_%04d", i),
			Description: "Does what " + s.name + " does, and says so in a sentence or two, as tools mostly do.",
			InputSchema: compact.Bytes(),
		}
	}
	return tools
}

func serversOnly(b *testing.B) []specimen {
	var out []specimen
	for _, file := range files(b, "servers/*.json") {
		for _, tool := range serverTools(b, file) {
			out = append(out, specimen{tool.Name, tool.InputSchema})
		}
	}
	return out
}

// listed returns a server's reply to tools/list.
func listed(b *testing.B, tools []listedTool) []byte {
	list, err := json.Marshal(map[string]any{"tools": tools})
	if err != nil {
		b.Fatal(err)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":2,"result":%s}`, list)
}
