package conn

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/protocol"
)

// Stray messages before an answer are left out on its stream.
func TestHTTPLeavesOutStrayMessages(t *testing.T) {
	for _, stray := range []string{
		`{"type":"heartbeat"}`, `{}`, `ping`, `null`, `[]`, ` `, `{"jsonrpc":"2.0"}`,
		`{"jsonrpc":"2.0","id":4711,"result":{}}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"m"}}`,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":NaN}}`,
		`{"jsonrpc":"2.0","id":null,"method":"notifications/message"}`,
	} {
		t.Run(stray, func(t *testing.T) {
			bothEras(t, dialOptions{}, func(w http.ResponseWriter, r rawRequest) {
				rawEvents(w, "data: "+stray+"\n\n"+resultOf(r.ID, "ok"))
			}, func(t *testing.T, c Conn, era protocol.Era) {
				got, err := c.Call(t.Context(), toolCall(era, "x", `{}`, 0))
				if err != nil || string(got) != `{"text":"ok"}` {
					t.Errorf("%s, %v", got, err)
				}
			})
		})
	}
}

// The envelope of an answer over HTTP may be unusual, its result is read as it is.
func TestHTTPReadsUnusualEnvelopes(t *testing.T) {
	for _, form := range []string{
		`{"jsonrpc":"2.0","id":"%s","result":{"text":"ok"}}`, `{"jsonrpc":"2.0","id":%s.0,"result":{"text":"ok"}}`,
		"\ufeff" + `{"jsonrpc":"2.0","id":%s,"result":{"text":"ok"}}`, `[{"jsonrpc":"2.0","id":%s,"result":{"text":"ok"}}]`,
	} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprint(form, stream), func(t *testing.T) {
				bothEras(t, dialOptions{}, func(w http.ResponseWriter, r rawRequest) {
					text := strings.Replace(form, "%s", string(r.ID), 1)
					if stream {
						rawEvents(w, "data: "+text+"\n\n")
						return
					}
					w.Header().Set("Content-Type", "application/json")
					io.WriteString(w, text)
				}, func(t *testing.T, c Conn, era protocol.Era) {
					got, err := c.Call(t.Context(), toolCall(era, "x", `{}`, 0))
					if err != nil || string(got) != `{"text":"ok"}` {
						t.Errorf("%s, %v", got, err)
					}
				})
			})
		}
	}
}
