package host_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/toolbox"
)

// A stream ends soon after its caller is refused. A running call does not end.
func TestStreamsEndWithTheirToken(t *testing.T) {
	for _, gone := range []string{"refused", "somebody else"} {
		synctest.Test(t, func(t *testing.T) {
			var finished atomic.Bool
			h := host.New(echoTool(), &host.Options{SessionIdle: -1, Authenticate: func(*http.Request) (toolbox.Principal, error) {
				switch {
				case !finished.Load():
					return "ann", nil
				case gone == "refused":
					return "", errors.New("expired")
				}
				return "bob", nil
			}})
			defer h.Close()
			opened := serveDirect(h.Handler(), "", "", request{body: fmt.Sprintf(initializeLine, "2025-11-25")})
			listen := modern("subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`).
				with("Accept", "text/event-stream")
			news := request{method: "GET"}.with("Mcp-Session-Id", opened.Header().Get("Mcp-Session-Id")).
				with("Accept", "text/event-stream")
			ended := make(chan *httptest.ResponseRecorder, 3)
			for _, r := range []request{listen, news} {
				go func() { ended <- serveDirect(h.Handler(), "", "", r) }()
			}
			go func() {
				ended <- serveDirect(h.SSEHandler(), "", "", request{method: "GET"}.with("Accept", "text/event-stream"))
			}()
			time.Sleep(time.Hour)
			synctest.Wait()
			if len(ended) != 0 {
				t.Fatalf("%d streams ended before: %s", len(ended), (<-ended).Body)
			}
			finished.Store(true)
			time.Sleep(6 * time.Second)
			synctest.Wait()
			if len(ended) != 3 {
				t.Fatalf("%s: %d streams have ended", gone, len(ended))
			}
			for range 3 {
				if w := <-ended; w.Code != 200 || strings.Contains(w.Body.String(), `"result"`) {
					t.Errorf("%d %s", w.Code, w.Body)
				}
			}
		})
	}
}
