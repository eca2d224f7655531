package interoptest_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/indusagi/indus/host"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/interop/interoptest"
	"github.com/indusagi/indus/toolbox"
)

// serveStdio makes this process a server of the suite.
func serveStdio(ctx context.Context) error {
	h := host.New(interoptest.Tools(), nil)
	defer h.Close()
	return h.ServeStdio(ctx)
}

// serveHTTP starts a host behind a real HTTP server and returns its URL.
func serveHTTP(t *testing.T, src toolbox.Source) string {
	h := host.New(src, nil)
	site := httptest.NewServer(h.Handler())
	t.Cleanup(func() {
		h.Close() // before the server, which waits for open streams
		site.Close()
	})
	return site.URL
}

// A host has its own options.
func ExamplePipe() {
	shelf := toolbox.NewRegistry(nil)
	shelf.Add(forecast())
	host := host.New(shelf, &host.Options{Instructions: "Ask before you sail."})
	defer host.Close()
	client := interop.NewEndpoint(config.Server{ID: "mine"}, &interop.EndpointOptions{Transport: interoptest.Pipe(host)})
	defer client.Close()
	if err := client.Open(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(client.Instructions())
	// Output:
	// Ask before you sail.
}
