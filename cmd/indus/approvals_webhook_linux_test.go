package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/indusagi/indus/control/approval"
	"github.com/indusagi/indus/internal/testkit/fixture"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// TestServeNotifiesAWebhook checks that indus serve sends signed events to the webhook of its configuration: for a call
// that waits, and for a decision of another process.
func TestServeNotifiesAWebhook(t *testing.T) {
	t.Parallel()
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	events := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = verifier.Verify(body, r.Header)
		}
		var e struct {
			Type string        `json:"type"`
			Data approval.Item `json:"data"`
		}
		if err == nil {
			err = json.Unmarshal(body, &e)
		}
		if err != nil {
			t.Errorf("%v: %s", err, body)
		}
		events <- e.Type + " " + e.Data.Tool + " " + string(e.Data.State)
	}))
	defer receiver.Close()
	dir := t.TempDir()
	write := func(name string, content any) {
		text, isText := content.(string)
		if !isText {
			b, err := json.Marshal(content)
			if err != nil {
				t.Fatal(err)
			}
			text = string(b)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	type object = map[string]any
	write("policy.cedar", `permit(principal, action == Action::"list", resource);
		@approve("other") permit(principal, action == Action::"call", resource);`)
	write("servers.json", object{
		"servers": object{"one": object{"command": fixture.Build(t)}}, "policy": "policy.cedar",
		"approvals": object{"webhook": object{"url": receiver.URL, "secret": secret}},
	})
	served := launch(t, projectCommand(dir, "serve", "--mcp", "servers.json", "--addr", "127.0.0.1:0"))
	url := served.waitFor(&served.err, `serving at (http://\S+)\n`)
	served.waitFor(&served.err, `one: ready`)
	write("client.json", object{"servers": object{"indus": object{"url": url}}})
	out, _ := projectCommand(dir, "mcp", "call", "indus__one__echo", "message=hi", "--mcp", "client.json").Output()
	if got := <-events; got != "approval.waiting echo waiting" {
		t.Errorf("%s after %s", got, out)
	}
	book, err := approval.Open(filepath.Join(dir, "indus", "call-approvals.json"), nil)
	if err != nil {
		t.Fatal(err)
	}
	items, err := book.List(t.Context(), nil)
	if err != nil || len(items) != 1 {
		t.Fatal(items, err)
	}
	if err := projectCommand(dir, "approvals", "allow", items[0].ID, "--yes").Run(); err != nil {
		t.Fatal(err)
	}
	if got := <-events; got != "approval.decided echo allowed" {
		t.Error(got)
	}
}
