// Command modelserver is a scripted model for a person at a terminal: it prints its URL, and serves the turns of a
// script with the APIs of Anthropic and OpenAI.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/indusagi/indus/internal/testkit/modelserver"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "the address to listen on")
	log := flag.String("log", "", "write each request to this file, as a line of JSON")
	pause := flag.Duration("pause", 0, "wait this long between two events of a stream")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), "usage: modelserver [-addr ADDR] [-log FILE] [-pause DURATION] SCRIPT.json\n\n"+
			`A script is a JSON array of turns: [{"text":"hello"},{"calls":[{"name":"read","input":{"path":"go.mod"}}]},`+
			`{"status":429,"retryAfter":"1"}]`+"\n\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	turns, err := modelserver.Read(flag.Arg(0))
	exitOn(err)
	s, err := modelserver.Start(*addr, turns...)
	exitOn(err)
	s.Pause = *pause
	if *log != "" {
		file, err := os.OpenFile(*log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		exitOn(err)
		s.LogTo(file)
	}
	fmt.Println(s.URL)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	<-stop
	s.Close()
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "modelserver:", err)
		os.Exit(1)
	}
}
