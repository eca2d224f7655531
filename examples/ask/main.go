// Command ask publishes a tool on stdio, for clients of both eras, with a prompt and a resource beside it. While the
// tool runs, it asks the person and the model behind the call.
package main

import (
	"context"
	"errors"
	"log"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/toolbox"
)

type order struct {
	Dish string `json:"dish" jsonschema_description:"What to order."`
}

type choice struct {
	Size  string `json:"size" jsonschema:"enum=small,enum=large"`
	Pizza uint8  `json:"count,omitempty" jsonschema:"title=How many?,minimum=1,default=1"`
}

type receipt struct {
	Count uint8  `json:"count"`
	Size  string `json:"size"`
	Note  string `json:"note"`
}

func placeOrder(ctx context.Context, in order) (*receipt, error) {
	toolbox.Log(ctx).Info("an order came in", "dish", in.Dish)
	c, err := toolbox.Elicit[choice](ctx, "Which "+in.Dish+"?") // waits for the answer of the person
	if errors.Is(err, toolbox.ErrDeclined) {
		return nil, toolbox.Errorf("nothing was ordered")
	} else if err != nil {
		return nil, err // toolbox.ErrDismissed, toolbox.ErrCannotAsk, or the error of the context
	}
	toolbox.ContextOf(ctx).Report(toolbox.Progress{Done: 1, Total: 2, Message: "the kitchen knows"})
	thanks := toolbox.Message{Text: "Thank a guest for ordering " + in.Dish + "."}
	reply, err := toolbox.Sample(ctx, toolbox.Sampling{Messages: []toolbox.Message{thanks}})
	if err != nil && !errors.Is(err, toolbox.ErrCannotAsk) {
		return nil, err
	}
	return &receipt{c.Pizza, c.Size, reply.Text}, nil
}

func kitchen() (*toolbox.Registry, *host.Library) {
	tools := toolbox.NewRegistry(nil)
	tools.Add(toolbox.Define("order", "Orders a dish.", placeOrder))

	library := host.NewLibrary()
	library.AddPrompt(host.Prompt{
		Name: "recommend", Description: "Recommends a dish.",
		Arguments: []host.Argument{{Name: "mood", Required: true, Complete: host.Words("hungry", "happy", "tired")}},
		Get: func(_ context.Context, arguments map[string]string) ([]toolbox.Message, error) {
			return []toolbox.Message{{Text: "Recommend a dish to a guest who is " + arguments["mood"] + "."}}, nil
		},
	})
	library.AddResource(host.Resource{
		Resource: toolbox.Resource{URI: "menu://today", Name: "menu", MIME: "text/plain", Text: "pizza, dal"},
	})
	library.AddResource(host.Resource{
		Resource: toolbox.Resource{URI: "menu://dishes/{dish}", Name: "dish", MIME: "text/plain"},
		Complete: map[string]host.Completion{"dish": host.Words("pizza", "dal")},
		Read: func(_ context.Context, r toolbox.Resource, parts map[string]string) (toolbox.Resource, error) {
			r.Text = parts["dish"] + ", freshly made"
			return r, nil
		},
	})
	return tools, library
}

func main() {
	tools, library := kitchen()
	h := host.New(tools, &host.Options{Library: library})
	defer h.Close()
	if err := h.ServeStdio(context.Background()); err != nil {
		log.Print(err)
	}
}
