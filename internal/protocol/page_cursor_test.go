package protocol_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
)

// A number as a cursor is returned as it came, and a refused empty cursor ends the list.
func TestPagesReadsUnusualCursors(t *testing.T) {
	for cursor, stopped := range map[string]bool{"2": false, `""`: true} {
		asked, rows := 0, 0
		pages := protocol.Pages{Method: "tools/list", Key: "tools", MaxPages: 9, MaxBytes: 1 << 20}
		stop, err := pages.Read(func(params json.RawMessage) (json.RawMessage, error) {
			asked++
			switch {
			case asked == 1:
				return json.RawMessage(`{"tools":[{}],"nextCursor":` + cursor + `}`), nil
			case string(params) != `{"cursor":`+cursor+`}`:
				t.Errorf("params = %s", params)
			case stopped:
				return nil, &protocol.RPCError{Code: protocol.CodeInvalidParams, Message: "no"}
			}
			return json.RawMessage(`{"tools":[{}]}`), nil
		}, func(_ []wire.Member, page []json.RawMessage) { rows += len(page) })
		if err != nil || strings.Contains(stop, "refuses") != stopped || !stopped && rows != 2 || rows == 0 {
			t.Errorf("%s: %d rows, %q, %v", cursor, rows, stop, err)
		}
	}
}

// TestPagesEndWithAnEmptyCursor checks a server that returns the same page with an empty cursor for ever: its list is
// whole. Other pages with that cursor are not.
func TestPagesEndWithAnEmptyCursor(t *testing.T) {
	for second, isWhole := range map[string]bool{`{"name":"a"}`: true, `{"name":"b"}`: false} {
		all, asked := "", 0
		pages := protocol.Pages{Method: "tools/list", Key: "tools", MaxPages: 9, MaxBytes: 1 << 20}
		stop, err := pages.Read(func(json.RawMessage) (json.RawMessage, error) {
			if asked++; asked > 1 {
				return json.RawMessage(`{"tools":[` + second + `],"nextCursor":""}`), nil
			}
			return json.RawMessage(`{"tools":[{"name":"a"}],"nextCursor":""}`), nil
		}, func(_ []wire.Member, page []json.RawMessage) { all += string(page[0]) })
		if err != nil || (stop == "") != isWhole || (all == `{"name":"a"}`) != isWhole {
			t.Errorf("%s: %s, %q, %v", second, all, stop, err)
		}
	}
}
