package anthropic_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/agent/anthropic"
)

func ExampleNew() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != "sk-example" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"error":{"type":"authentication_error","message":"invalid x-api-key"}}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"42"}}`+"\n\n"+
			`data: {"type":"message_stop"}`+"\n\n")
	}))
	defer server.Close()
	ask := func(key string) (agent.Answer, error) {
		model := anthropic.New("claude-sonnet-4-5", &anthropic.Options{Key: key, BaseURL: server.URL})
		return agent.New(agent.Options{Provider: model}).Prompt(context.Background(), "What is the answer?")
	}

	answer, err := ask("sk-example")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Text)
	_, err = ask("another key")
	if e, ok := errors.AsType[*agent.ProviderError](err); ok {
		fmt.Println(e.Status, e.Code, e.Message)
	}
	// Output:
	// 42
	// 401 authentication_error invalid x-api-key
}
