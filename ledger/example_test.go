package ledger_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/interop/interoptest"
	"github.com/indusagi/indus/ledger"
	"github.com/indusagi/indus/toolbox"
)

// greeter returns a server in memory.
func greeter() *interoptest.Server {
	return interoptest.NewServer("greeter", toolbox.Define("greet", "Greets somebody.",
		func(context.Context, struct{}) (string, error) { return "hello", nil }))
}

// newPath returns a path for an example's log.
func newPath() (path string, remove func()) {
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		log.Fatal(err)
	}
	return filepath.Join(dir, "ledger.jsonl"), func() { os.RemoveAll(dir) }
}

func ExampleAttach() {
	ctx := context.Background()
	path, remove := newPath()
	defer remove()
	file, err := ledger.OpenFile(ctx, path, nil)
	if err != nil {
		log.Fatal(err)
	}
	server := greeter()
	defer server.Close()
	a := ledger.Attach(ctx, ledger.Ledger{}, []config.Server{server.Config()}, &ledger.Options{
		Log: file, By: "an example", Mount: &interop.MountOptions{FleetOptions: interop.FleetOptions{Endpoint: interoptest.Endpoints(server)}},
	})
	fmt.Println(a.Enrolled, "enrolled:", a.Names())
	for _, c := range a.Capabilities() {
		fmt.Println(*c.Run(ctx, json.RawMessage(`{}`)).Blocks()[0].Text)
	}
	a.Detach() // all servers; this writes the log too

	entries, err := file.Read(ctx, 0)
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range entries {
		fmt.Println(e.Seq, e.Op)
	}
	// Output:
	// 1 enrolled: [greeter__greet]
	// hello
	// 1 begin
	// 2 enroll
	// 3 end
}

func ExampleReduce() {
	at := time.Now()
	l := ledger.Ledger{}.
		Enroll(at, ledger.Capability{Name: "fs__read", Server: "fs", Tool: "read"}).
		Enroll(at, ledger.Capability{Name: "web__get", Server: "web", Tool: "get"}).
		Withdraw(at, "fs")
	snapshot := ledger.Reduce(l.Log()) // the same as l.Snapshot()
	fmt.Println(snapshot.Names(), snapshot.ByServer, snapshot.HighWater)
	// Output: [web__get] map[web:1] 3
}

func ExampleContentKey() {
	fmt.Println(ledger.ContentKey(config.QualifiedName("github", "create_issue"), nil))
	// Output: bk_189bf8c3e054c2302eaf3bd87efd8ea7
}

func ExampleUntil() {
	entries := ledger.Ledger{}.
		Enroll(start, ledger.Capability{Name: "fs__read", Server: "fs", Tool: "read"}).
		Withdraw(start.Add(time.Hour), "fs").Log()
	for _, at := range []time.Time{start.Add(time.Minute), start.Add(2 * time.Hour)} {
		fmt.Println(at.Format(time.TimeOnly), len(ledger.Live(ledger.Until(entries, at))), "live")
	}
	// Output:
	// 12:01:00 1 live
	// 14:00:00 0 live
}

func ExampleFile_Verify() {
	ctx := context.Background()
	path, remove := newPath()
	defer remove()
	file, err := ledger.OpenFile(ctx, path, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, tool := range []string{"a", "b", "c"} {
		if _, err := file.Append(ctx, ledger.Entry{Op: ledger.Enroll, Server: "fs", Tool: tool, At: start}); err != nil {
			log.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	text[len(text)/2] ^= 1 // tamper with the log
	if err := os.WriteFile(path, text, 0o600); err != nil {
		log.Fatal(err)
	}
	report, err := file.Verify(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Entries, "good;", report.Damage[0])
	// Output: 2 good; line 2: altered (entry 2): it was altered: its hash does not match its text
}
