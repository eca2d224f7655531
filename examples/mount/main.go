// Command mount mounts the servers of a configuration file, prints the name of
// every tool, and calls one.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/mcpconfig"
	"github.com/indusagi/indus/toolbox"
)

func main() {
	servers, notes := mcpconfig.Load(context.Background(), os.Args[1]) // never an error for one bad row
	mounted := interop.Mount(context.Background(), servers, nil)       // never fails as a whole
	defer mounted.Close()
	for _, d := range mounted.Box.Descriptors() {
		fmt.Println(d.Name)
	}
	call := toolbox.Call{Name: "everything__echo", Input: json.RawMessage(`{"message":"hi"}`)}
	fmt.Println(mounted.Box.Run(context.Background(), call).Text(), notes)
}
