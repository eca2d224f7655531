package toolbox_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/indusagi/indus/schema"
	"github.com/indusagi/indus/toolbox"
)

// TestOwnNames checks that a model finds a tool by its owner's name, and that a changed name is explained.
func TestOwnNames(t *testing.T) {
	var snapshot toolbox.Snapshot
	for _, names := range [][2]string{
		{"s__a", "a"}, {"s__chat_sendDm", "chat_sendDm"}, {"s__chat_sendDm_0a1b2c3d", "chat.sendDm"}, {"s_______1f3e24dc", "查询天气"}, {"t__x_1", "x.y"}, {"t__x_2", "x.y"},
	} {
		snapshot.Tools = append(snapshot.Tools, toolbox.Descriptor{Name: names[0], Server: names[0][:1], Tool: names[1], Schema: json.RawMessage(`{"type":"object"}`)})
	}
	var called string
	box := toolbox.NewBox(&toolbox.BoxOptions{Profile: schema.Universal}, newFleet(&snapshot, func(_ context.Context, c toolbox.Call) (*toolbox.Result, error) {
		if !slices.ContainsFunc(snapshot.Tools, func(d toolbox.Descriptor) bool { return d.Name == c.Name }) {
			return nil, &toolbox.UnknownTool{Name: c.Name}
		}
		called = c.Name
		return nil, nil
	}))
	for name, want := range map[string]string{
		"s__a": "s__a", "s__chat.sendDm": "s__chat_sendDm_0a1b2c3d", "s__chat_sendDm": "s__chat_sendDm", "s__查询天气": "s_______1f3e24dc",
		"t__x.y": "", "s__": "", "": "",
	} {
		called = ""
		out := box.Run(t.Context(), toolbox.Call{Name: name})
		if called != want || out.IsError != (want == "") {
			t.Errorf("%q called %q, want %q: %s", name, called, want, out.Output)
		}
	}
	for name, want := range map[string]string{
		"mcp__s__a": "s__a", "functions.s__a": "s__a", "default_api.s__a": "s__a", "s__a<|channel|>commentary": "s__a", "s__a:0" + strings.Repeat("x", 200): "s__a",
		"s__chat.sendDn": "s__chat_sendDm_0a1b2c3d", "s__查询天汽": "s_______1f3e24dc", "xs__ab": "",
	} {
		got := (&toolbox.UnknownTool{Name: name}).Nearest(snapshot.Tools)
		if first := append(got, "")[0]; first != want && want != "" || want == "" && slices.Contains(got, "s__a") && name == "" {
			t.Errorf("%q suggests %q, want %q", name, got, want)
		}
	}
	for _, d := range box.Descriptors() {
		if own := d.OwnName(); strings.HasPrefix(d.Description, d.Tool) != (own != "") {
			t.Errorf("%s is described as %q", d.Name, d.Description)
		}
	}
}
