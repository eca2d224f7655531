// Command guard puts the servers of a configuration file behind one URL, and refuses calls outside of the hours from
// FROM to TO: guard FILE ADDRESS FROM TO. Lists, prompts and resources are open all day.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/mcpconfig"
)

// hours permits calls of tools from one hour to another. It is the guard, and the exchange of every request.
type hours struct {
	gateway.PermitAll
	from, to int
}

func (h hours) Begin(ctx context.Context, _ *gateway.Request) (context.Context, gateway.Exchange, error) {
	return ctx, h, nil
}

func (h hours) Admit(ctx context.Context, a *gateway.Access) (context.Context, *gateway.Refusal) {
	if hour := time.Now().Hour(); a.Action == gateway.ActionCall && (hour < h.from || hour >= h.to) {
		return ctx, &gateway.Refusal{Text: fmt.Sprintf("%s is open from %d to %d h", a.Name, h.from, h.to)}
	}
	return ctx, nil
}

func main() {
	ctx := context.Background()
	servers, _ := mcpconfig.Load(ctx, os.Args[1])
	from, _ := strconv.Atoi(os.Args[3])
	to, _ := strconv.Atoi(os.Args[4])
	l, err := net.Listen("tcp", os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	g := gateway.New(ctx, servers, &gateway.Options{Guard: hours{from: from, to: to}})
	fmt.Printf("http://%s/mcp\n", l.Addr())
	log.Fatal(g.Run(ctx, l))
}
