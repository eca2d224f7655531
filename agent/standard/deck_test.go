package standard_test

import (
	"encoding/json"
	"testing"

	"github.com/indusagi/indus/agent/standard"
	"github.com/indusagi/indus/toolbox"
)

func TestHarmless(t *testing.T) {
	tests := []struct {
		name, input string
		want        bool
	}{
		{"read", `{"path":"a"}`, true},
		{"ls", ``, true},
		{"grep", `{"pattern":"a"}`, true},
		{"find", `{"pattern":"a"}`, true},
		{"todo", `{"tasks":[]}`, true},
		{"process", `{"action":"list"}`, true},
		{"process", `{"action":"poll","id":"p1"}`, true},
		{"process", `{"action":"stop","id":"p1"}`, true},
		{"process", `{"action":"start","command":"ls"}`, false},
		{"process", `{"action":"list","action":"start","command":"ls"}`, false},
		{"process", `{"action":"list","Action":"start","command":"ls"}`, false},
		{"process", `{"action":"list","ACTION":"start","command":"ls"}`, false},
		{"process", `{"action":"list"} {"action":"start"}`, false},
		{"process", `"{\"action\":\"list\"}"`, false},
		{"process", `{"action":["list"]}`, false},
		{"process", `{}`, false},
		{"process", ``, false},
		{"process", `{"action":"LIST"}`, false},
		{"bash", `{"command":"ls"}`, false},
		{"write", `{}`, false},
		{"edit", `{}`, false},
		{"webfetch", `{"url":"https://example.com"}`, false},
		{"Read", `{}`, false},
		{"files__read", `{}`, false},
		{"", ``, false},
	}
	for _, tt := range tests {
		if got := standard.Harmless(toolbox.Call{Name: tt.name, Input: json.RawMessage(tt.input)}); got != tt.want {
			t.Errorf("%s %s: %v", tt.name, tt.input, got)
		}
	}
}
