// Command agent answers a question with a model of Anthropic and a tool of its own.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/agent/anthropic"
	"github.com/indusagi/indus/toolbox"
)

type place struct {
	City string `json:"city"`
}

func main() {
	tools := toolbox.NewRegistry(nil)
	tools.Add(toolbox.Define("weather", "Says how the weather is.", func(_ context.Context, in place) (string, error) {
		return "It rains in " + in.City, nil
	}))
	model := anthropic.New("claude-sonnet-4-5", &anthropic.Options{
		Key: os.Getenv("ANTHROPIC_API_KEY"), BaseURL: os.Getenv("ANTHROPIC_BASE_URL"),
	})
	box := toolbox.NewBox(&toolbox.BoxOptions{Profile: model.Profile()}, tools)
	session := agent.New(agent.Options{Provider: model, Tools: box})
	answer, err := session.Prompt(context.Background(), strings.Join(os.Args[1:], " "))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Text)
}
