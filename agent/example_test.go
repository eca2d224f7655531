package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/indusagi/indus/agent"
	"github.com/indusagi/indus/toolbox"
)

// parrot is a model that calls its first tool once and then repeats the result. A real model is on the other side of a
// network.
type parrot struct{}

func (parrot) Name() string { return "zoo/parrot" }

func (parrot) Generate(_ context.Context, r agent.Request, onPiece func(agent.Piece)) (agent.Reply, error) {
	reply := agent.Reply{Stop: agent.StopEnd, Message: agent.Message{Role: agent.Assistant}}
	switch part := r.Messages[len(r.Messages)-1].Parts[0]; {
	case part.Result != nil:
		said := "It says " + string(part.Result.Output)
		onPiece(agent.Piece{Text: said})
		reply.Message.Parts = []agent.Part{{Text: said}}
	default:
		reply.Stop = agent.StopCalls
		input, _ := json.Marshal(map[string]string{"city": part.Text})
		reply.Message.Parts = []agent.Part{{Call: &agent.Call{Name: r.Tools[0].Name, Input: input}}}
	}
	return reply, nil
}

type weatherIn struct {
	City string `json:"city"`
}

func weather() *toolbox.Registry {
	r := toolbox.NewRegistry(nil)
	r.Add(toolbox.Define("weather", "Says how the weather is.", func(_ context.Context, in weatherIn) (string, error) {
		return "It rains in " + in.City, nil
	}))
	return r
}

func Example() {
	s := agent.New(agent.Options{
		Provider: parrot{},
		Tools:    toolbox.NewBox(nil, weather()),
		Hear: func(e agent.Event) {
			if e.Kind == agent.EventCall {
				fmt.Println("calls", e.Call.Name, string(e.Call.Input))
			}
		},
	})
	answer, err := s.Prompt(context.Background(), "Lahore")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Text)
	// Output:
	// calls weather {"city":"Lahore"}
	// It says "It rains in Lahore"
}

func ExampleGuard() {
	permissions := &agent.Permissions{
		Allow: []string{"time__*"},
		Ask: func(_ context.Context, a agent.Ask) (agent.Verdict, error) {
			fmt.Printf("May %s run with %s?\n", a.Tool.Name, a.Call.Input)
			return agent.Refuse, nil
		},
	}
	if err := permissions.Check(); err != nil {
		log.Fatal(err)
	}
	tools := toolbox.NewBox(nil, agent.Guard(weather(), permissions.Permit))
	out := tools.Run(context.Background(), toolbox.Call{Name: "weather", Input: json.RawMessage(`{"city":"Lahore"}`)})
	fmt.Println(out.Text())
	// Output:
	// May weather run with {"city":"Lahore"}?
	// weather did not run: the user refused this call. Do not try it again; ask the user for another way
}

func ExampleOpenTranscript() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	for _, prompt := range []string{"Lahore", "Karachi"} { // a session for each prompt, as if the first process had ended
		transcript, err := agent.OpenTranscript(ctx, filepath.Join(dir, "one.jsonl"), agent.Header{Dir: "/src", Model: "zoo/parrot"})
		if err != nil {
			log.Fatal(err)
		}
		s := agent.New(agent.Options{
			Provider: parrot{}, Tools: toolbox.NewBox(nil, weather()), Journal: transcript, History: transcript.Entries(),
		})
		if _, err := s.Prompt(ctx, prompt); err != nil {
			log.Fatal(err)
		}
		for _, m := range s.Messages() {
			if text := m.Text(); text != "" {
				fmt.Println(strings.ToUpper(string(m.Role)), text)
			}
		}
		fmt.Println("--")
		transcript.Close()
	}
	// Output:
	// USER Lahore
	// ASSISTANT It says "It rains in Lahore"
	// --
	// USER Lahore
	// ASSISTANT It says "It rains in Lahore"
	// USER Karachi
	// ASSISTANT It says "It rains in Karachi"
	// --
}
