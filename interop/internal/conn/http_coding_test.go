package conn

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/protocol"
)

// Codings that were not asked for are read, or named.
func TestHTTPReadsCodingsThatWereNotAskedFor(t *testing.T) {
	deflate := func(s string) string {
		var b bytes.Buffer
		z := zlib.NewWriter(&b)
		io.WriteString(z, s)
		z.Close()
		return b.String()
	}
	raw := func(s string) string {
		var b bytes.Buffer
		z, _ := flate.NewWriter(&b, 5)
		io.WriteString(z, s)
		z.Close()
		return b.String()
	}
	// net/http decodes no gzip if the row has the header.
	for i, tt := range []struct {
		coding string
		encode func(string) string
		named  bool
	}{
		{"gzip", gzipped, false}, {"x-gzip", gzipped, false}, {"X-GZIP", gzipped, false}, {"deflate", deflate, false},
		{"deflate", raw, false}, {"br", gzipped, true}, {"zstd", gzipped, true}, {"gzip, br", gzipped, true},
	} {
		accept := http.Header{}
		if i%2 == 0 {
			accept.Set("Accept-Encoding", "gzip, deflate")
		}
		t.Run(tt.coding, func(t *testing.T) {
			bothEras(t, dialOptions{headers: accept}, func(w http.ResponseWriter, r rawRequest) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Content-Encoding", tt.coding)
				io.WriteString(w, tt.encode(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, r.ID)))
			}, func(t *testing.T, c Conn, era protocol.Era) {
				_, err := c.Call(t.Context(), toolCall(era, "x", `{}`, 0))
				if (err != nil) != tt.named || tt.named && !strings.Contains(err.Error(), "Content-Encoding") {
					t.Errorf("err = %v", err)
				}
			})
		})
	}
}
