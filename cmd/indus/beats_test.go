package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// beatTime is the interval at which beats records that it runs.
const beatTime = 5 * time.Millisecond

// beats is a server on stdio. It records that it runs in a file of the directory of its first argument, until it is
// killed. Its tools return its process number. The tool grow adds a tool.
func beats() {
	file, err := os.OpenFile(filepath.Join(os.Args[1], strconv.Itoa(os.Getpid())), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	go func() {
		for began := time.Now().UnixNano(); ; time.Sleep(beatTime) {
			_, _ = file.WriteAt(fmt.Appendf(nil, "%d %d", began, time.Now().UnixNano()), 0)
		}
	}()
	server := mcp.NewServer(&mcp.Implementation{Name: "beats", Version: "1"}, nil)
	type input struct {
		Text string `json:"text"`
	}
	add := func(name string, then func()) {
		mcp.AddTool(server, &mcp.Tool{Name: name}, func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
			then()
			text := fmt.Sprintf("process %d", os.Getpid())
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
		})
	}
	add("write", func() {})
	add("grow", func() { add("more", func() {}) })
	_ = server.Run(context.Background(), &mcp.StdioTransport{})
}
