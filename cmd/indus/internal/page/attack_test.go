package page_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/indusagi/indus/mcpconfig"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A small schema whose fields share one large definition does not make a large page.
func TestASchemaDoesNotGrow(t *testing.T) {
	var fields, values []string
	for i := range 200 {
		fields = append(fields, fmt.Sprintf(`"f%d":{"$ref":"#/$defs/a"}`, i))
		values = append(values, fmt.Sprintf(`"%d%s"`, i, strings.Repeat("x", 1000)))
	}
	long := `"` + strings.Repeat("y", 100_000) + `"`
	var tools []tool
	for name, shared := range map[string]string{
		"choices": `{"enum":[` + strings.Join(values, ",") + `]}`,
		"default": `{"type":"string","default":` + long + `}`,
		"group":   `{"type":"object","properties":{` + strings.Join(fields, ",") + `}}`,
		"texts":   `{"type":"string","title":` + long + `,"description":` + long + `,"examples":[` + long + `]}`,
	} {
		tools = append(tools, tool{Tool: mcp.Tool{Name: name}, schema: `{"type":"object","required":["f0"],` +
			`"properties":{` + strings.Join(fields, ",") + `},"$defs":{"a":` + shared + `}}`})
	}
	b := serving{servers: map[string]*mcp.Server{"s": toolServer(tools...)}}.start(t).operator(t)
	for _, one := range tools {
		status, text := b.get("/try?tool=s__" + one.Name)
		if status != http.StatusOK || len(text) > 2<<20 {
			t.Errorf("%s: status %d, %d bytes", one.Name, status, len(text))
		}
	}
}

// Lists of choices are bounded. The chosen name is always among them.
func TestManyViews(t *testing.T) {
	config := &mcpconfig.Config{}
	for i := range 10_000 {
		config.Views = append(config.Views, mcpconfig.View{Name: fmt.Sprint("view", i)})
	}
	s := serving{config: config, rules: "permit(principal, action, resource);", keys: true}.start(t)
	b := s.operator(t)
	for path, chosen := range map[string]string{
		"/connect?view=@view9999": "@view9999", "/policy": "",
	} {
		status, text := b.get(path)
		if status != http.StatusOK || len(text) > 200_000 || strings.Count(text, "<option") > 2_200 ||
			!strings.Contains(text, "The first 1000 of 1000") {
			t.Errorf("%s: status %d, %d bytes, %d choices", path, status, len(text), strings.Count(text, "<option"))
		}
		if chosen != "" && !strings.Contains(text, `<option value="`+chosen+`" selected`) {
			t.Error(path, "the chosen name is missing")
		}
	}
	status, text := b.post("/policy/explain", url.Values{"as": {"local"}, "action": {"call"}, "item": {"s0/t"}, "view": {"@view9999"}})
	if status != http.StatusOK || !strings.Contains(text, `<option value="@view9999" selected`) {
		t.Error("explain:", status)
	}
}
