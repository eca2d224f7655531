package openai_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/agent/openai"
)

func ExampleNew() {
	// The server stands for a local model server, such as Ollama's at http://127.0.0.1:11434/v1.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"It is "}}]}`+"\n\n"+
			`data: {"choices":[{"index":0,"delta":{"content":"42."},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()

	model := openai.New("qwen3:8b", &openai.Options{BaseURL: server.URL, Provider: "ollama"})
	session := agent.New(agent.Options{Provider: model, Hear: func(e agent.Event) {
		if e.Kind == agent.EventText {
			fmt.Printf("%q\n", e.Text)
		}
	}})
	answer, err := session.Prompt(context.Background(), "What is the answer?")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(model.Name(), "says:", answer.Text)
	// Output:
	// "It is "
	// "42."
	// ollama/qwen3:8b says: It is 42.
}
