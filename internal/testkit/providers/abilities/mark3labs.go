package main

import (
	"context"
	"slices"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// mark3labs returns mcp-go's client at one revision. signIn is called after a refused request.
func mark3labs(revision string, signIn func(ctx context.Context, refused error) error,
	options ...transport.StreamableHTTPCOption) connect {
	return func(ctx context.Context, url string, h *heard) (session, error) {
		options := slices.Clone(options)
		if !mcp.IsModernProtocol(revision) {
			//lint:ignore SA1019 before 2026-07-28 there is no other way to hear of updates
			options = append(options, transport.WithContinuousListening()) // excludes the modern era
		}
		over, err := transport.NewStreamableHTTP(url, options...)
		if err != nil {
			return nil, err
		}
		c := client.NewClient(over, client.WithProtocolVersion(revision), client.WithElicitationHandler(asked{h}))
		c.OnNotification(func(n mcp.JSONRPCNotification) {
			if uri, ok := n.Params.AdditionalFields["uri"].(string); ok && n.Method == mcp.MethodNotificationResourceUpdated {
				select {
				case h.updated <- uri:
				default:
				}
			}
		})
		if err := c.Start(ctx); err != nil {
			return nil, err
		}
		var r mcp.InitializeRequest
		r.Params.ClientInfo = mcp.Implementation{Name: "abilities", Version: "1"}
		r.Params.ProtocolVersion = revision
		_, err = c.Initialize(ctx, r)
		if err != nil && signIn != nil {
			err = signIn(ctx, err)
			if err == nil {
				_, err = c.Initialize(ctx, r)
			}
		}
		return library{c}, err
	}
}

// asked answers questions.
type asked struct{ *heard }

func (a asked) Elicit(context.Context, mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	a.asked <- struct{}{}
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{Action: "accept", Content: answer()}}, nil
}

type library struct{ *client.Client }

func (c library) tools(ctx context.Context) (names []string, err error) {
	r, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, err
	}
	for _, tool := range r.Tools {
		names = append(names, tool.Name)
	}
	return names, nil
}

func (c library) call(ctx context.Context, name string, args map[string]any) ([]byte, error) {
	var r mcp.CallToolRequest
	r.Params.Name, r.Params.Arguments = name, args
	return encoded(c.CallTool(ctx, r))
}

func (c library) resources(ctx context.Context) (uris []string, err error) {
	r, err := c.ListResources(ctx, mcp.ListResourcesRequest{})
	if err != nil {
		return nil, err
	}
	for _, resource := range r.Resources {
		uris = append(uris, resource.URI)
	}
	return uris, nil
}

func (c library) read(ctx context.Context, uri string) ([]byte, error) {
	var r mcp.ReadResourceRequest
	r.Params.URI = uri
	return encoded(c.ReadResource(ctx, r))
}

func (c library) prompts(ctx context.Context) (names []string, err error) {
	r, err := c.ListPrompts(ctx, mcp.ListPromptsRequest{})
	if err != nil {
		return nil, err
	}
	for _, p := range r.Prompts {
		names = append(names, p.Name)
	}
	return names, nil
}

func (c library) prompt(ctx context.Context, name string) ([]byte, error) {
	var r mcp.GetPromptRequest
	r.Params.Name = name
	return encoded(c.GetPrompt(ctx, r))
}

func (c library) subscribe(ctx context.Context, uri string) error {
	if c.GetSessionId() == "" {
		_, err := c.ListenAsync(ctx, mcp.SubscriptionFilter{ResourceSubscriptions: []string{uri}}, nil)
		return err
	}
	var r mcp.SubscribeRequest
	r.Params.URI = uri
	//lint:ignore SA1019 likewise
	return c.Subscribe(ctx, r)
}
