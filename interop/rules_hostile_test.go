package interop_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
)

// A caller with hand-written params of a call cannot reach a denied tool. Many servers
// ignore the case of members, and use the last of two, or the first.
func TestNoSpellingReachesADeniedTool(t *testing.T) {
	rules := config.ToolRules{Deny: []string{"rm"}, Rename: map[string]string{"ls": "rm"}}
	m, s := mountRules(t, rules, "ls", "rm", "rm ")
	e, err := m.Fleet.Endpoint("a", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, params := range []string{
		`{"name":"rm"}`, `{"name":"ls","name":"rm"}`, `{"name":"rm","name":"ls"}`, `{"name":"ls","Name":"rm"}`, `{"NAME":"rm","name":"ls"}`,
		`{"name":"ls","n\u0061me":"rm"}`, `{"n\u0061me":"rm"}`, `{"NaMe":"rm"}`, `{"name":"r\u006d"}`,
	} {
		if r, err := e.Do(t.Context(), interop.Message{Method: "tools/call", Params: json.RawMessage(params)}); err == nil {
			t.Errorf("the endpoint's Do of %s gives %s", params, r)
		}
		c := toolbox.Call{Name: "a__rm", Wire: toolbox.Wire{Format: "mcp/legacy", JSON: json.RawMessage(params)}}
		if _, err := m.Box.Do(t.Context(), c); err == nil && strings.Count(strings.ToLower(params), "me\"") > 1 {
			t.Errorf("the box's Do of %s is no error", params)
		}
	}
	for _, name := range []string{"rm", "a__ls", "a__RM", config.QualifiedName("a", "rm\x00"), "a__rm_" + strings.Repeat("0", 8)} {
		if _, err := echoText(t.Context(), m.Box, name, "{}"); err == nil {
			t.Errorf("%q is called", name)
		}
	}
	if n := s.requestCount("call rm"); n != 0 {
		t.Errorf("a denied tool was called %d times", n)
	}
}

// The configuration may give any names and descriptions. Each mounted tool still has a
// unique name that every provider accepts, and is called by it. Its tool object is the
// server's, except for the description.
func TestRulesThatSayAnything(t *testing.T) {
	t.Parallel()
	plain := regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_-]{0,63}$`)
	for i, as := range []string{
		"", " ", "b__c", "__", "_", "-", strings.Repeat("x", 300), "größe", "ls\x00", "\xff\xfe", "a/b", "\u202egnp", "other",
		config.QualifiedName("a", "größe")[3:], "💥",
	} {
		descriptions := []string{"", "\xff\x00\u2028\"\\", "\x1b[31m"}
		if i == 0 {
			descriptions = append(descriptions, strings.Repeat("☃", 1<<19))
		}
		for _, description := range descriptions {
			m, s := mountRules(t, config.ToolRules{Rename: map[string]string{"ls": as, "größe": as + "2"}, Describe: map[string]string{"ls": description}}, "ls", "other", "größe")
			names := map[string]bool{}
			tools := m.Box.Snapshot("").Tools
			for n, d := range tools {
				if !plain.MatchString(d.Name) || names[d.Name] {
					t.Errorf("%q is mounted as %q", as, d.Name)
				}
				names[d.Name] = true
				if !json.Valid(d.Wire.JSON) || !utf8.Valid(d.Wire.JSON) {
					t.Errorf("%.40q gives the tool object %.100q", description, d.Wire.JSON)
				}
				var row struct{ Name, Description string }
				if err := json.Unmarshal(d.Wire.JSON, &row); err != nil || row.Name != d.Tool || row.Description != d.Description {
					t.Errorf("tool %d: %v, %q, %.40q and %.40q", n, err, row.Name, row.Description, d.Description)
				}
				before := s.requestCount("call " + d.Tool)
				if got, err := echoText(t.Context(), m.Box, d.Name, "{}"); got != d.Tool || s.requestCount("call "+d.Tool) != before+1 {
					t.Errorf("%s says %q, %v", d.Name, got, err)
				}
			}
			if n := len(tools) + len(m.Fleet.Quarantined()); n != 3 {
				t.Errorf("%q: of 3 tools %d are mounted or quarantined: %s", as, n, fmt.Sprint(m.Fleet.Quarantined()))
			}
			m.Close()
		}
	}
}
