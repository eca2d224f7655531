package command

import (
	"encoding/json"
	"errors"

	"github.com/indusagi/indus/cmd/indus/internal/show"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
)

// maxQuoted bounds how much of a malformed result an error quotes, in runes.
const maxQuoted = 300

// CheckResult returns a fault that quotes the result of a prompts/get or a resources/read if it has no list of messages or contents.
// Without this check, such a result would count as an empty success. A list that is null counts as empty, because many servers
// write one so.
func CheckResult(server, method string, result json.RawMessage) error {
	list := map[string]string{"prompts/get": "messages", "resources/read": "contents"}[method]
	if list == "" {
		return nil
	}
	if rows, ok := wire.Lookup(result, list); ok && (rows[0] == '[' || rows[0] == 'n') {
		return nil
	}
	return interop.NewFault(interop.Protocol, server, method,
		errors.New("a result without a list "+string(wire.Quote(list))+": "+show.Cut(show.Clean(string(result)), maxQuoted)))
}
