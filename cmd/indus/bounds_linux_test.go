package main

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/indusagi/indus/internal/testkit/fixture"
)

// memory returns a value of a process in MiB: VmRSS, or VmHWM for its peak.
func memory(t testing.TB, pid int, name string) int {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	kib, err := strconv.Atoi(regexp.MustCompile(name + `:\s+(\d+)`).FindStringSubmatch(string(raw))[1])
	if err != nil {
		t.Fatal(err)
	}
	return kib >> 10
}

// TestClientsThatDoNotReadFillNoMemory starts 24 clients that request 8 MB each and read nothing. The memory for
// them is limited, another client is served meanwhile, and the memory is released.
func TestClientsThatDoNotReadFillNoMemory(t *testing.T) {
	t.Parallel()
	f := fixture.New(t)
	p := startServe(t, map[string]row{"big": {f.Path, f.Args, nil}}, "--addr", "127.0.0.1:0", "--memory", "32")
	where, err := url.Parse(p.waitFor(&p.err, `serving at (\S+)\n`))
	if err != nil {
		t.Fatal(err)
	}
	p.waitFor(&p.err, `big: ready`)
	const params = `"name":"big__block","arguments":{"bytes":8000000},` + meta
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + params + `}}`
	var clients []net.Conn
	for range 24 {
		c, err := net.Dial("tcp", where.Host)
		if err != nil {
			t.Fatal(err)
		}
		clients = append(clients, c)
		_, _ = io.WriteString(c,
			"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMcp-Protocol-Version: 2026-07-28\r\n"+
				"Mcp-Method: tools/call\r\nMcp-Name: big__block\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body)
	}
	f.WaitN("handled", 24) // stalled replies make room for the others
	_, session := post(t, where.String(), "", "initialize",
		`"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}`)
	if text, _ := post(t, where.String(), session, "tools/call",
		`"name":"big__block","arguments":{"bytes":8000000}`); len(text) < 8_000_000 {
		t.Errorf("one who reads got %d bytes: %.200s", len(text), text)
	}
	bound, enough := 200, 64
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{
		Key: "-race", Value: "true",
	}) {
		bound, enough = 400, 250 // the race detector needs memory for each byte
	}
	most := memory(t, p.cmd.Process.Pid, "VmHWM")
	for _, c := range clients {
		c.Close()
	}
	late := time.Now().Add(deadline)
	for memory(t, p.cmd.Process.Pid, "VmRSS") > enough && time.Now().Before(late) {
		time.Sleep(100 * time.Millisecond)
	}
	left := memory(t, p.cmd.Process.Pid, "VmRSS")
	t.Logf("at most %d MiB, at last %d MiB", most, left)
	if most > bound || left > enough {
		t.Errorf("at most %d MiB, at last %d MiB", most, left)
	}
}
