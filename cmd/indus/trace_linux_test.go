package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/indusagi/indus/internal/testkit/fixture"
)

// TestACallCrossesThePackagesOfTheTenSteps checks the stack of a running call against the ten steps of ARCHITECTURE.md,
// from the outside in. Its answer must be awaited in the package that reads it. Each step begins with the package or
// type that does it.
func TestACallCrossesThePackagesOfTheTenSteps(t *testing.T) {
	t.Parallel()
	steps := tenSteps(t)
	if len(steps) != 10 {
		t.Fatalf("there are %d steps: %q", len(steps), steps)
	}
	want := slices.Compact(slices.Clone(steps[:8]))
	reads, returns := steps[8], steps[9]
	if returns != want[1] { // want[0] only looks at the path
		t.Errorf("the answer returns to %s, and the call came from %s", returns, want[1])
	}

	f := fixture.New(t)
	cmd := indusCommand(t, map[string]row{"one": {f.Path, f.Args, nil}}, "serve", "--addr", "127.0.0.1:0")
	socket := filepath.Join(cmd.Dir, "probe")
	cmd.Env = append(cmd.Env, probeName+"="+socket)
	p := launch(t, cmd)
	url := p.waitFor(&p.err, `serving at (\S+)\n`)
	p.waitFor(&p.err, `one: ready`)
	body := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one__hang","arguments":{"key":"a"},` +
		meta + `}}`)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "one__hang",
	} {
		r.Header.Set(name, value)
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		if resp, err := timedClient.Do(r); err == nil {
			resp.Body.Close()
		}
	}()
	f.WaitN("call hang", 1)
	eventually(t, func() string { // the server may have the call before indus waits for its answer
		var call, readers [][]string
		for _, stack := range stacks(probed(t, socket, "/goroutines")) {
			switch {
			case slices.Contains(stack, "toolbox"):
				call = append(call, stack)
			case stack[0] == reads:
				readers = append(readers, stack)
			}
		}
		if len(call) != 1 || len(readers) == 0 {
			return fmt.Sprintf("%d calls are under way: %q; and %d goroutines read in %s", len(call), call, len(readers), reads)
		}
		// As step 1 states.
		between := slices.DeleteFunc(slices.Clone(call[0][1:]), func(pkg string) bool { return pkg == "gateway" })
		if diff := cmp.Diff(want, slices.Compact(append(call[0][:1:1], between...))); diff != "" {
			return "the ten steps of ARCHITECTURE.md and what a call crosses (-steps +call):\n" + diff
		}
		return ""
	})
	p.signal(syscall.SIGKILL)
	p.ends(-1)
	<-answered
}

// tenSteps returns the package of each step of ARCHITECTURE.md, in order.
func tenSteps(t *testing.T) (steps []string) {
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## One call in ten steps\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, m := range regexp.MustCompile("(?m)^[0-9]+\\. `([^`]+)`").FindAllStringSubmatch(section, -1) {
		steps = append(steps, packageOf(m[1]))
	}
	return steps
}

// packageOf returns the package of a name such as interop/internal/conn.Conn.
func packageOf(name string) string {
	base := strings.LastIndexByte(name, '/') + 1
	pkg, _, _ := strings.Cut(name[base:], ".")
	return name[:base] + pkg
}

// stacks returns the packages of this module in each goroutine of a dump, from the outside in, without repetitions.
func stacks(dump string) (out [][]string) {
	for goroutine := range strings.SplitSeq(dump, "\n\n") {
		var packages []string
		for line := range strings.Lines(goroutine) {
			if name, ours := strings.CutPrefix(line, "github.com/indusagi/indus/"); ours {
				name, _, _ = strings.Cut(name, "(")
				packages = append(packages, packageOf(name))
			}
		}
		slices.Reverse(packages)
		if packages = slices.Compact(packages); len(packages) > 0 {
			out = append(out, packages)
		}
	}
	return out
}
