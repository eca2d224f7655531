// Command compare measures indus, the direct call and two anchors in one run. The anchors do the
// least work possible for a gateway. It writes the tables and the plot of docs/benchmarks.md.
//
//	go run ./internal/testkit/bench/compare [-quick] [-indus BIN] [-doc docs/benchmarks.md]
//	go run ./internal/testkit/bench/compare -cell http/legacy/262144/32 [-indus BIN] [-before BIN]
//
// With -cell it measures and prints one cell. With -before another build of the command takes turns with it.
// Without -indus it builds the command as a release does. Its other commands are for its own child processes:
//
//	compare echo     an MCP server on the Go SDK with tools that return a given number of bytes
//	compare rawstdio HTTP before one stdio server: only the ids of messages are replaced
//	compare revproxy net/http/httputil.ReverseProxy before one HTTP server
//
// It measures four values:
//
//   - the p50 latency of calls, as the ratio to the direct call of the same round; in each round the
//     sides take turns
//   - CPU seconds of the gateway's process alone
//   - its peak resident memory
//   - the time from its start to its first responses
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("compare: ")
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "echo":
			serveEcho(os.Args[2:])
			return
		case "rawstdio", "revproxy":
			serveAnchor(os.Args[1], os.Args[2:])
			return
		}
	}
	var r run
	indus := flag.String("indus", "", "the `file` of the command; without it, it is built")
	doc := flag.String("doc", "docs/benchmarks.md",
		"the `file` whose tables are replaced; the plot is written beside it, as .svg")
	quick := flag.Bool("quick", false, "few and short rounds, to see that everything runs")
	name := flag.String("cell", "", "measure and print only one cell, `TRANSPORT/ERA/SIZE/CLIENTS`")
	flag.StringVar(&r.before, "before", "", "with -cell, the `file` of another build, to measure it beside")
	flag.IntVar(&r.rounds, "rounds", 3, "interleaved rounds of each cell")
	flag.DurationVar(&r.phase, "phase", time.Second, "how long each side is called in each round")
	flag.Parse()
	if *quick {
		r.rounds, r.phase = 1, 200*time.Millisecond
	}
	if r.before != "" && *name == "" {
		log.Fatal("-before has no place in the tables: give -cell too")
	}
	if err := r.prepare(*indus); err != nil {
		log.Fatal(err)
	}
	var err error
	if *name != "" {
		err = r.one(*name)
	} else {
		err = r.all(*quick)
	}
	r.close()
	if err == nil && *name == "" {
		err = r.write(*doc)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// run holds one comparison.
type run struct {
	rounds int
	phase  time.Duration
	self   string // this program
	indus  string
	before string // another build; "": none
	dir    string // directory of configurations, and the home of indus

	start  time.Time
	cells  []cell
	lists  []list
	memory []figure
	starts []figure
}

func (r *run) prepare(indus string) (err error) {
	r.start = time.Now()
	if r.self, err = os.Executable(); err != nil {
		return err
	}
	if r.dir, err = os.MkdirTemp("", "indus-compare-"); err != nil {
		return err
	}
	r.indus = indus
	if indus == "" {
		r.indus = filepath.Join(r.dir, "indus")
		build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", r.indus, "./cmd/indus")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("go build: %w", err)
		}
	}
	if r.before != "" {
		r.before, err = filepath.Abs(r.before)
		if err != nil {
			return err
		}
	}
	r.indus, err = filepath.Abs(r.indus)
	return err
}

func (r *run) close() { _ = os.RemoveAll(r.dir) }

// all runs every measurement.
func (r *run) all(quick bool) error {
	for _, era := range []string{modern, legacy} {
		for _, transport := range []string{"stdio", "http"} {
			sizes := []int{64, 256 << 10}
			if era == modern && !quick { // for the plot
				sizes = []int{64, 4 << 10, 32 << 10, 256 << 10}
			}
			if err := r.matrix(transport, era, sizes); err != nil {
				return fmt.Errorf("%s, %s: %w", transport, era, err)
			}
		}
	}
	if err := r.measureMemory(quick); err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	if err := r.measureStarts(quick); err != nil {
		return fmt.Errorf("starts: %w", err)
	}
	return nil
}
