package bridge_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// raw is a minimal server of 2026-07-28. A test controls its answers to calls, with bytes that no library would write.
type raw struct {
	url string

	mu     sync.Mutex
	answer func(w http.ResponseWriter, id json.RawMessage, r *http.Request)
}

func newRaw(t testing.TB) *raw {
	t.Helper()
	s := &raw{}
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *raw) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if err != nil || json.Unmarshal(body, &m) != nil {
		http.Error(w, "no message", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch m.Method {
	case "server/discover":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}}`, m.ID)
	case "tools/list":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[`+
			`{"name":"plain","inputSchema":{"type":"object"}},{"name":"reads","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}},`+
			`{"name":"typed","inputSchema":{"type":"object"},"outputSchema":%s}]}}`, m.ID, citySchema)
	default:
		s.mu.Lock()
		answer := s.answer
		s.mu.Unlock()
		answer(w, m.ID, r)
	}
}

type rawID = json.RawMessage

// answers sets the function that answers later calls.
func (s *raw) answers(how func(w http.ResponseWriter, id json.RawMessage, r *http.Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = how
}

// result answers calls with these bytes as the result.
func (s *raw) result(bytes string) {
	s.answers(func(w http.ResponseWriter, id json.RawMessage, _ *http.Request) {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, bytes)
	})
}

// status answers calls with an HTTP status.
func (s *raw) status(status int, body string) {
	s.answers(func(w http.ResponseWriter, _ json.RawMessage, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}
