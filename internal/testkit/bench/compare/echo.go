package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"reflect"
	"strings"
	"sync"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The supported revisions, one of each era.
const (
	legacy = "2025-06-18"
	modern = "2026-07-28"
)

// serveEcho runs the measured server: a typical server on the Go SDK. It supports one era, so that a
// gateway in front of it uses the same era as the direct call.
func serveEcho(args []string) {
	fs := flag.NewFlagSet("echo", flag.ExitOnError)
	addr := fs.String("addr", "", "serve HTTP there instead of stdio")
	tools := fs.Int("tools", 10, "how many")
	era := fs.String("era", modern, "the one revision that it speaks")
	_ = fs.Parse(args)
	s := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1.0.0"}, nil)
	for i := range *tools {
		s.AddTool(&mcp.Tool{
			Name: fmt.Sprintf("echo_%04d", i),
			Description: fmt.Sprintf("Echo tool number %d. Returns a text block of the requested size. Used only to measure "+
				"a gateway.", i),
			InputSchema: json.RawMessage(echoSchema),
		}, echo)
	}
	s.AddReceivingMiddleware(onlyEra(*era))
	if *addr == "" {
		log.Fatal(s.Run(context.Background(), &mcp.IOTransport{Reader: polledStdin(), Writer: os.Stdout}))
	}
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Stateless: *era == modern})
	log.Fatal(http.ListenAndServe(*addr, h))
}

const echoSchema = `{"type":"object","properties":{` +
	`"text":{"type":"string","description":"Text that the tool receives; it is not inspected."},` +
	`"size":{"type":"integer","description":"Number of bytes of text that the tool returns.","minimum":0},` +
	`"mode":{"type":"string","enum":["plain","upper","lower"],"description":"Unused; makes the schema of ordinary ` +
	`size."}},` +
	`"required":["text"]}`

func echo(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var a struct{ Size int }
	if err := json.Unmarshal(req.Params.Arguments, &a); err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: filler(a.Size)}}}, nil
}

var fillers sync.Map

// filler returns text with a newline every 80 bytes and a quote every 160.
func filler(n int) string {
	if s, ok := fillers.Load(n); ok {
		return s.(string)
	}
	b := make([]byte, n)
	for i := range b {
		switch {
		case i%80 == 79:
			b[i] = '\n'
		case i%160 == 40:
			b[i] = '"'
		default:
			b[i] = "abcdefghijklmnopqrstuvwxyz 0123456789"[i*7%37]
		}
	}
	fillers.Store(n, string(b))
	return string(b)
}

// onlyEra answers requests of the other era as unknown methods, so that clients that probe fall back.
func onlyEra(era string) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			version := legacy
			if p := reflect.ValueOf(req.GetParams()); p.IsValid() && !p.IsNil() {
				if v, _ := req.GetParams().GetMeta()[mcp.MetaKeyProtocolVersion].(string); v >= modern {
					version = modern
				}
			}
			if version != era && !strings.HasPrefix(method, "notifications/") {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found"}
			}
			return next(ctx, method, req)
		}
	}
}

// polledStdin returns stdin through the runtime's poller. With a pending blocking read, a collection
// of Go 1.26 and 1.27 can wait until more input comes.
func polledStdin() *os.File {
	if f, err := os.OpenFile("/proc/self/fd/0", os.O_RDONLY|syscall.O_NONBLOCK, 0); err == nil {
		return f
	}
	return os.Stdin
}
