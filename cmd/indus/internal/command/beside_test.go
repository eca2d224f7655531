package command_test

import (
	"strings"
	"testing"

	"github.com/indusagi/indus/cmd/indus/internal/command"
)

// A prompt is found and suggested by its own name where the name was changed.
func TestAPromptIsFoundByItsOwnName(t *testing.T) {
	rows := []command.Beside{
		{Server: "s", Name: "one"}, {Server: "s", Name: "chat.sendDm"}, {Server: "s", Name: "chat_sendDm"},
		{Server: "s", Name: "日本語"}, {Server: "s", Name: "日本"}, {Server: "s", Name: "日本"},
	}
	changed := rows[1].Qualified()
	for name, want := range map[string]string{
		"s__one": "s__one", changed: changed, "s__chat.sendDm": changed, "s__chat_sendDm": "s__chat_sendDm",
		"s__日本語": rows[3].Qualified(),
	} {
		if got, err := command.FindPrompt(rows, name, "X"); err != nil || got.Qualified() != want {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
	for name, want := range map[string]string{
		"s__chat.sendDN": ", did you mean " + changed, "s__日本話": ", did you mean ",
		"s__日本": ", did you mean", "unlike": "; X lists them", "mcp__s__one": ", did you mean s__one?",
	} {
		if _, err := command.FindPrompt(rows, name, "X"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if rows[0].OwnName() != "" || rows[2].OwnName() != "" || rows[3].OwnName() != "日本語" {
		t.Errorf("%q %q %q", rows[0].OwnName(), rows[2].OwnName(), rows[3].OwnName())
	}
}
