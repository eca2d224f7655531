// Command gateway puts the servers of a configuration file behind one URL until it is interrupted.
// A view shows the servers with names that begin with "git".
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"

	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/mcpconfig"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	servers, notes := mcpconfig.Load(ctx, os.Args[1])
	for _, n := range notes {
		log.Print(n)
	}
	l, err := net.Listen("tcp", os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	g := gateway.New(ctx, servers, &gateway.Options{
		Views: map[string]gateway.View{"git": {Servers: []string{"git*"}}},
	})
	fmt.Printf("http://%s/mcp\n", l.Addr()) // also serves /mcp/SERVER and /mcp/@git
	if err := g.Run(ctx, l); err != nil {
		log.Fatal(err)
	}
}
