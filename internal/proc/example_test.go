//go:build linux || darwin

package proc_test

import (
	"bufio"
	"context"
	"fmt"
	"os"

	"github.com/indusagi/indus/internal/proc"
)

func ExampleStart() {
	p, err := proc.Start(context.Background(), proc.Command{
		Path: "cat",
		Env:  proc.Environ(os.Environ(), nil, false),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Fprintln(p.Stdin(), "ping")
	answer, _ := bufio.NewReader(p.Stdout()).ReadString('\n')
	fmt.Print(answer)
	p.Close()
	<-p.Done()
	fmt.Println(p.Err())
	// Output:
	// ping
	// <nil>
}

func ExampleRun() {
	exit, err := proc.Run(context.Background(), proc.Command{
		Path: "sh",
		Args: []string{"-c", "echo hello; exit 3"},
	}, nil, os.Stdout, nil)
	fmt.Println(exit, err)
	// Output:
	// hello
	// 3 <nil>
}
