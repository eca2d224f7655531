package mcpconfig_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDefinitionIsTheRowThatCounts(t *testing.T) {
	c, err := readText(t, `{"servers": [
		{"id": "a", "command": "first"},
		{"name": "b", "id": "b", "command": "${HOME}", /* why */ "env": {"T": "s3cret",},},
		{"id": "broken", "command": "${UNSET}"},
		{"id": "broken", "command": "${UNSET_TOO}"},
		{"id": "off", "command": "x", "enabled": false},
		"text",
	], "mcpServers": {
		"a": {"command": "second", "args": ["${cmd:echo x}"], "name": "ignored"},
		"none": [],
	}}`)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, id := range []string{"a", "b", "broken", "off", "none", "other", ""} {
		r, _ := c.Find(id, nil)
		if d, ok := c.Definition(r); ok {
			got[d.ID] = string(d.JSON)
			if printed := fmt.Sprintf("%v %+v %#v %s", d, d, d, d); printed != fmt.Sprintf("%[1]q %[1]q %[1]q %[1]q", id) {
				t.Error(printed)
			}
		}
	}
	want := map[string]string{
		"a":      `{"command":"second","args":["${cmd:echo x}"]}`,
		"b":      `{"command":"${HOME}","env":{"T":"s3cret"}}`,
		"broken": `{"command":"${UNSET}"}`,
		"off":    `{"command":"x","enabled":false}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
