// Command publish puts a tool of its own out as an MCP server, over HTTP, for
// clients of both eras.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/toolbox"
)

func main() {
	tools := toolbox.NewRegistry(nil)
	tools.Add(toolbox.Define("shout", "Says it louder.",
		`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`,
		func(_ context.Context, _ *toolbox.Context, in struct{ Text string }) (*toolbox.Result, error) {
			return toolbox.NewResult(toolbox.Text(strings.ToUpper(in.Text))), nil
		}))
	addr := "127.0.0.1:7333"
	if len(os.Args) > 1 {
		addr = os.Args[1]
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s/mcp\n", l.Addr())
	log.Fatal(http.Serve(l, host.New(tools, nil).Handler()))
}
