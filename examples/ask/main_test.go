package main

import (
	"context"
	"fmt"
	"log"

	"github.com/indusagi/indus/host"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Example connects clients of both eras in memory. Each client answers the questions of the tool.
func Example() {
	ctx := context.Background()
	tools, library := kitchen()
	h := host.New(tools, &host.Options{Library: library})
	defer h.Close()

	client := mcp.NewClient(&mcp.Implementation{Name: "waiter", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			fmt.Println("asked:", r.Params.Message)
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"size": "large"}}, nil
		},
	})
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		here, there := mcp.NewInMemoryTransports()
		go func() { _ = h.Serve(ctx, there) }()
		session, err := client.Connect(ctx, here, &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			log.Fatal(err)
		}
		r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "order", Arguments: order{"pizza"}})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(version, r.Content[0].(*mcp.TextContent).Text)
		p, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "recommend", Arguments: map[string]string{"mood": "tired"}})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(p.Messages[0].Content.(*mcp.TextContent).Text)
		c, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "menu://dishes/dal"})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(c.Contents[0].Text)
		_ = session.Close()
	}
	// Output:
	// asked: Which pizza?
	// 2025-11-25 {"count":1,"size":"large","note":""}
	// Recommend a dish to a guest who is tired.
	// dal, freshly made
	// asked: Which pizza?
	// 2026-07-28 {"count":1,"size":"large","note":""}
	// Recommend a dish to a guest who is tired.
	// dal, freshly made
}
