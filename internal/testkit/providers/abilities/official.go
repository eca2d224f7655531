package main

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// official returns go-sdk's client at one revision. handler signs in, unless it is nil.
func official(revision string, handler auth.OAuthHandler) connect {
	return func(ctx context.Context, url string, h *heard) (session, error) {
		client := mcp.NewClient(&mcp.Implementation{Name: "abilities", Version: "1"}, &mcp.ClientOptions{
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				h.asked <- struct{}{}
				return &mcp.ElicitResult{Action: "accept", Content: answer()}, nil
			},
			ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
				select {
				case h.updated <- r.Params.URI:
				default:
				}
			},
		})
		s, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url, OAuthHandler: handler},
			&mcp.ClientSessionOptions{ProtocolVersion: revision})
		return sdk{s}, err
	}
}

type sdk struct{ *mcp.ClientSession }

func (s sdk) tools(ctx context.Context) (names []string, err error) {
	for tool, err := range s.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		names = append(names, tool.Name)
	}
	return names, nil
}

func (s sdk) call(ctx context.Context, name string, args map[string]any) ([]byte, error) {
	return encoded(s.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args}))
}

func (s sdk) resources(ctx context.Context) (uris []string, err error) {
	for r, err := range s.Resources(ctx, nil) {
		if err != nil {
			return nil, err
		}
		uris = append(uris, r.URI)
	}
	return uris, nil
}

func (s sdk) read(ctx context.Context, uri string) ([]byte, error) {
	return encoded(s.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri}))
}

func (s sdk) prompts(ctx context.Context) (names []string, err error) {
	for p, err := range s.Prompts(ctx, nil) {
		if err != nil {
			return nil, err
		}
		names = append(names, p.Name)
	}
	return names, nil
}

func (s sdk) prompt(ctx context.Context, name string) ([]byte, error) {
	return encoded(s.GetPrompt(ctx, &mcp.GetPromptParams{Name: name}))
}

func (s sdk) subscribe(ctx context.Context, uri string) error {
	return s.Subscribe(ctx, &mcp.SubscribeParams{URI: uri})
}
