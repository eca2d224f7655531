// Command publish serves tools of its own as an MCP server, over HTTP, for clients of both eras.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/toolbox"
)

type phrase struct {
	Text  string `json:"text" jsonschema_description:"What to say."`
	Times int    `json:"times,omitempty" jsonschema:"minimum=1,maximum=10"`
}

type sum struct {
	A int `json:"a"`
	B int `json:"b"`
}

type total struct {
	Sum int `json:"sum"`
}

func toUpper(_ context.Context, in phrase) (string, error) {
	return strings.Repeat(strings.ToUpper(in.Text), max(1, in.Times)), nil
}

func add(_ context.Context, in sum) (total, error) { return total{in.A + in.B}, nil }

func currentTime(context.Context, struct{}) (time.Time, error) { return time.Now(), nil }

func square(context.Context, struct{}) (toolbox.Block, error) {
	picture := `<svg xmlns="http://www.w3.org/2000/svg"><rect width="9" height="9"/></svg>`
	return toolbox.Image([]byte(picture), "image/svg+xml"), nil
}

func main() {
	tools := toolbox.NewRegistry(nil)
	tools.Add(
		toolbox.Define("shout", "Says it louder.", toUpper),
		toolbox.Define("add", "Adds two numbers.", add),
		toolbox.Define("now", "What time it is.", currentTime),
		toolbox.Define("square", "Draws a square.", square),
	)
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
