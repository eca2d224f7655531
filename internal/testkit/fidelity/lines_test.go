package fidelity

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
)

// prettyRow and prettyError are written over several lines with different line ends.
const (
	prettyRow   = "{\n\t\"name\": \"%s\",\r\n\t\"inputSchema\":\r{ \"type\":\n\"object\",\n\n\"x\": [1.0,\r\n 9007199254740993] }\n}"
	prettyError = "{\n\"code\":\r\n-5, \"message\": \"no luck\",\n\"data\": {\r" + oddValues + "\n}\r\n}"
)

// prettyServer is a server of 2026-07-28 that sends messages of many lines. Its tool "json" returns
// one JSON object, "events" returns an event with several data lines, and "error" returns an error.
func prettyServer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Name string }
	}
	if err != nil || json.Unmarshal(body, &m) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	answer := `"result":` + strings.ReplaceAll(kitchenSink, ",\n", "\r,\r\n")
	switch {
	case m.Method == "server/discover":
		answer = `"result":{"resultType":"complete","supportedVersions":["` +
			modernVersion + `"],"capabilities":{"tools":{}}}`
	case m.Method == "tools/list":
		var rows []string
		for _, name := range []string{"json", "events", "error"} {
			rows = append(rows, fmt.Sprintf(prettyRow, name))
		}
		answer = "\"result\":\n{\"tools\" :[" + strings.Join(rows, ",\n") + "\n]}"
	case m.Params.Name == "error":
		answer = `"error":` + prettyError
	}
	message := "{\n\"jsonrpc\":\"2.0\",\r\n\"id\":" + string(m.ID) + ",\n" + answer + "\n}\n"
	if m.Params.Name != "events" {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, message)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, "data: "+strings.NewReplacer("\r\n", "\r\ndata: ", "\n", "\ndata: ", "\r",
		"\rdata: ").Replace(message)+"\n\n")
}

// TestLineBreaksAreWhitespace checks that line breaks never cut a message in two, neither on a pipe
// nor in an event, and that no other byte is lost with them.
func TestLineBreaksAreWhitespace(t *testing.T) {
	r := &rig{T: t}
	up := newSite(t, http.HandlerFunc(prettyServer))
	r.publish(r.mount("fx", config.HTTP{URL: up}, interop.EndpointOptions{Era: interop.Modern}))
	r.each(t, func(t *testing.T, c *client) {
		for _, tool := range []string{"fx__json", "fx__events"} {
			if d := diff(canon([]byte(kitchenSink)), canon(c.call(tool, plain).result)); d != "" {
				t.Errorf("%s: %s", tool, d)
			}
		}
		if d := diff(string(compact([]byte(prettyError))), string(compact(c.call("fx__error", plain).error))); d != "" {
			t.Errorf("error: %s", d)
		}
		list := c.start("tools/list", "", `{"_meta":{"io.modelcontextprotocol/HOP":0,"a":1}}`).wait().result
		rows := parts(lookup(compact(list), "tools"))
		if len(rows) != 3 {
			t.Fatalf("%d tools in %.300s", len(rows), list)
		}
		if d := diff(string(compact(fmt.Appendf(nil, prettyRow, "fx__json"))), string(rows[0])); d != "" {
			t.Errorf("tool: %s", d)
		}
	})
}
