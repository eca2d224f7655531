package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// client writes JSON-RPC by hand and decodes nothing, so that most of the measured time belongs to the
// server and the gateway.
type client struct {
	era  string
	send func(method, tool string, message []byte) ([]byte, error) // returns nil for a notification
	end  func()
	next atomic.Int64
}

const clientInfo = `{"name":"compare","version":"1.0.0"}`

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"` +
	modern + `","io.modelcontextprotocol/clientInfo":` + clientInfo +
	`,"io.modelcontextprotocol/clientCapabilities":{}}`

// request sends a request. params are members of an object.
func (c *client) request(method, tool, params string) ([]byte, error) {
	if c.era == modern {
		params = strings.TrimSuffix(modernMeta+","+params, ",")
	}
	return c.send(method, tool, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, c.next.Add(1),
		method, params))
}

// greet checks that the server supports the era.
func (c *client) greet() error {
	method, params := "server/discover", ""
	if c.era == legacy {
		method, params = "initialize", `"protocolVersion":"`+legacy+`","capabilities":{},"clientInfo":`+clientInfo
	}
	b, err := c.request(method, "", params)
	if err == nil && !bytes.Contains(b, []byte(c.era)) {
		err = fmt.Errorf("%s: %.300s", method, b)
	}
	if err == nil && c.era == legacy {
		_, err = c.send("notifications/initialized", "", []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	}
	return err
}

// call calls a tool that returns size bytes.
func (c *client) call(tool string, size int) error {
	b, err := c.request("tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":{"text":"hello","size":%d}`, tool, size))
	if err == nil && (len(b) < size || bytes.Contains(b[:min(len(b), 300)], []byte(`"error"`)) ||
		bytes.Contains(b[max(0, len(b)-300):], []byte(`"isError":true`))) {
		err = fmt.Errorf("call of %s: %d bytes: %.300s", tool, len(b), b)
	}
	return err
}

// list requests the tools. It returns how many there are, and the name of one of them.
func (c *client) list() (tools int, first string, err error) {
	b, err := c.request("tools/list", "", "")
	if err != nil {
		return 0, "", err
	}
	tools = bytes.Count(b, []byte(`"inputSchema":`))
	if i := bytes.Index(b, []byte("echo_0000")); i > 0 {
		from := bytes.LastIndexByte(b[:i], '"') + 1
		first = string(b[from : i+len("echo_0000")])
	}
	return tools, first, nil
}

// dialHTTP returns a client of a URL.
func dialHTTP(url, era string, transport http.RoundTripper) (*client, error) {
	session := ""
	c := &client{era: era, end: func() {}}
	c.send = func(method, tool string, message []byte) ([]byte, error) {
		req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(message))
		if err != nil {
			return nil, err
		}
		req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		if era == modern || method != "initialize" {
			req.Header["Mcp-Protocol-Version"] = []string{era}
		}
		if era == modern {
			req.Header["Mcp-Method"] = []string{method}
			if tool != "" {
				req.Header["Mcp-Name"] = []string{tool}
			}
		} else if session != "" {
			req.Header["Mcp-Session-Id"] = []string{session}
		}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		if s := resp.Header.Get("Mcp-Session-Id"); s != "" {
			session = s
		}
		b, err := io.ReadAll(resp.Body)
		if err == nil && resp.StatusCode/100 != 2 {
			err = fmt.Errorf("HTTP %d: %.300s", resp.StatusCode, b)
		}
		return b, err
	}
	return c, c.greet()
}

// transportFrom returns a transport with connections from an address of this machine.
func transportFrom(ip string) *http.Transport {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
	return &http.Transport{DialContext: d.DialContext, MaxIdleConnsPerHost: 64}
}

// dialStdio returns a client of a child. Many goroutines may share it.
func dialStdio(argv []string, era string) (*client, error) {
	p, err := startChild(argv)
	if err != nil {
		return nil, err
	}
	c := &client{era: era, end: p.end, send: func(_, _ string, message []byte) ([]byte, error) { return p.send(message) }}
	return c, c.greet()
}

// child is a process with pipes. Many goroutines may send messages to it, each with its own id.
type child struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	writing sync.Mutex
	pending sync.Map // id as it is written -> chan []byte
	dead    chan struct{}
}

func startChild(argv []string) (*child, error) {
	p := &child{cmd: exec.Command(argv[0], argv[1:]...), dead: make(chan struct{})}
	p.cmd.Stderr = stderr()
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.read(out)
	return p, nil
}

// read passes each line to the goroutine that waits for it.
func (p *child) read(out io.Reader) {
	defer close(p.dead)
	for b := bufio.NewReaderSize(out, 64<<10); ; {
		line, err := b.ReadBytes('\n')
		if err != nil {
			return
		}
		from, to := idOf(line)
		if answer, ok := p.pending.LoadAndDelete(string(line[from:to])); ok {
			answer.(chan []byte) <- line
		}
	}
}

// send sends a message without its line end, and returns the response. It returns nil for a notification.
func (p *child) send(message []byte) ([]byte, error) {
	answer := make(chan []byte, 1)
	from, to := idOf(message)
	if from > 0 {
		p.pending.Store(string(message[from:to]), answer)
	}
	p.writing.Lock()
	_, err := p.in.Write(append(message, '\n'))
	p.writing.Unlock()
	if err != nil || from == 0 {
		return nil, err
	}
	select {
	case line := <-answer:
		return line, nil
	case <-p.dead:
		return nil, errors.New("the server ended")
	}
}

func (p *child) end() {
	_ = p.in.Close()
	stop(p.cmd)
}

// stderr returns the writer for the stderr of children.
func stderr() io.Writer {
	if os.Getenv("COMPARE_STDERR") != "" {
		return os.Stderr
	}
	return nil
}

// stop waits for a process with a closed stdin or a SIGTERM, and then kills it.
func stop(cmd *exec.Cmd) {
	timer := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Wait()
}

// freeAddr returns an address of this machine without a listener.
func freeAddr() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "127.0.0.1:0"
	}
	defer l.Close()
	return "127.0.0.1:" + strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// waitFor waits until a listener accepts connections.
func waitFor(ctx context.Context, addr string) error {
	for {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			return c.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", addr, err)
		case <-time.After(time.Millisecond):
		}
	}
}
