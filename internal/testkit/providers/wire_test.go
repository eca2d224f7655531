package providers_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// endpoint is a provider's API on the loopback interface. It keeps each request body, and always returns the same
// response.
type endpoint struct {
	*httptest.Server
	bodies chan []byte
}

func serve(t *testing.T, answer string) *endpoint {
	t.Helper()
	e := &endpoint{bodies: make(chan []byte, 1)}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		e.bodies <- body
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(e.Close)
	return e
}

// received decodes the body of the last request.
func (e *endpoint) received(t *testing.T, v any) {
	t.Helper()
	body := <-e.bodies
	if err := json.Unmarshal(body, v); err != nil {
		t.Fatalf("%v in what was sent: %.200s", err, body)
	}
}

// arrived is a tool as a provider received it.
type arrived struct {
	Name, Description string
	Schema            json.RawMessage
}

// check compares the received tools with the given tools, in order.
func check(t *testing.T, want []tool, got []arrived, how lines) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d tools arrived, want %d", len(got), len(want))
	}
	for i, w := range want {
		if got[i].Name != w.Name || got[i].Description != w.Description {
			t.Errorf("%s: name and description %q, %q, want %q, %q", w.From, got[i].Name, got[i].Description, w.Name,
				w.Description)
		}
		if diff := how.diff(w.Schema, got[i].Schema); diff != "" {
			t.Errorf("%s %s: -adapted +arrived:\n%s", w.From, w.Name, diff)
		}
	}
}
