package command_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/indusagi/indus/cmd/indus/internal/command"
)

// A result without its list is a fault that quotes the result, not an empty success.
func TestCheckResult(t *testing.T) {
	for result, bad := range map[string]bool{
		`{}`: true, `[]`: true, `"x"`: true, `{"LIST":"x"}`: true, `{"LIST":{}}`: true, `{"other":[]}`: true,
		`{"LIST":[]}`: false, `{"LIST":null}`: false, `{"LIST":[{}],"_meta":{}}`: false,
	} {
		for method, list := range map[string]string{"prompts/get": "messages", "resources/read": "contents"} {
			result := strings.ReplaceAll(result, "LIST", list)
			err := command.CheckResult("s", method, json.RawMessage(result))
			if (err != nil) != bad ||
				bad && (!strings.Contains(err.Error(), result) || command.ExitCode(err) != command.ExitFault) {
				t.Errorf("%s of %s: %v", result, method, err)
			}
		}
	}
	if err := command.CheckResult("s", "completion/complete", json.RawMessage(`{}`)); err != nil {
		t.Error(err)
	}
}
