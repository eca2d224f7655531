package broker_test

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/box/broker"
)

func init() { fixtures["fetch"] = fetch }

// fetch gets URLs as a static program of Go does: with the proxy of the environment.
func fetch() {
	for _, u := range os.Args[1:] {
		func() {
			resp, err := http.Get(u)
			if err != nil {
				fmt.Println(err)
				return
			}
			defer resp.Body.Close()
			b, _ := io.ReadAll(resp.Body)
			fmt.Println(resp.StatusCode, strings.TrimSpace(string(b)))
		}()
	}
}

func TestStaticProgramByProxy(t *testing.T) {
	t.Parallel()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	_, tls, _ := net.SplitHostPort(secure.Listener.Addr().String())
	port := site(t)
	r := newRig(t, broker.Rules{Hosts: []string{"api.example.com:" + port, "api.example.com:" + tls, "localhost:" + port,
		"localhost:" + tls, "private.example.com:" + port}})
	r.SetResolver(dnsServer(t, map[string][]string{"api.example.com.": {"127.0.0.1"}, "private.example.com.": {"10.1.2.3"}}))
	cmd := self(t, "fetch", "http://api.example.com:"+port, "https://api.example.com:"+tls, "http://127.0.0.1:"+port,
		"http://telemetry.example.com", "https://telemetry.example.com", "http://private.example.com:"+port,
		"http://169.254.169.254/latest/", "http://bad_port.example.com:0")
	cmd.Env = append(cmd.Env, r.Environ()...)
	out := r.run(cmd)
	want := strings.NewReplacer("PORT", port, "TLS", tls).Replace(`200 hello api.example.com:PORT
Get "https://api.example.com:TLS": tls: failed to verify certificate: x509: certificate signed by unknown authority
200 hello 127.0.0.1:PORT
403 telemetry.example.com:80: not in the sandbox of this program
Get "https://telemetry.example.com": Forbidden
502 dial tcp 10.1.2.3:PORT: 10.1.2.3:PORT is a private address
403 169.254.169.254:80: not in the sandbox of this program
403 host "bad_port.example.com:0": the port "0" is not a number from 1 to 65535
`)
	if out != want {
		t.Errorf("got\n%s", out)
	}
	if got := strings.Join(r.denied(), "|"); got != strings.ReplaceAll("host telemetry.example.com:80|"+
		"host telemetry.example.com:443|host private.example.com:PORT|host 169.254.169.254:80", "PORT", port) {
		t.Errorf("denied %s", got)
	}
}

func init() { fixtures["proxy"] = speak }

// speak sends each argument to the proxy and prints the first line of the answer.
func speak() {
	proxy, err := url.Parse(os.Getenv("HTTP_PROXY"))
	if err != nil {
		panic(err)
	}
	for _, digits := range os.Args[1:] {
		message, err := hex.DecodeString(digits)
		if err != nil {
			panic(err)
		}
		conn, err := net.Dial("tcp", proxy.Host)
		if err != nil {
			panic(err)
		}
		_, _ = conn.Write(message)
		if !strings.Contains(string(message), "HTTP/") { // a server of HTTP takes it for the end of the client
			_ = conn.(*net.TCPConn).CloseWrite()
		}
		line, _ := bufio.NewReader(conn).ReadString('\n')
		fmt.Printf("%.80q\n", strings.TrimSuffix(line, "\r\n"))
		_ = conn.Close()
	}
}

// TestProxyProtocols speaks to the proxy byte by byte.
func TestProxyProtocols(t *testing.T) {
	t.Parallel()
	port := site(t)
	r := namedRig(t, "api.example.com", port)
	n := atoi(t, port)
	number := string([]byte{byte(n >> 8), byte(n)})
	get := "GET / HTTP/1.0\r\nHost: api.example.com:" + port + "\r\n\r\n"
	socks := func(kind, address string) string { return "\x05\x01\x00\x05\x01\x00" + kind + address }
	name := "\x0fapi.example.com"
	type row struct{ send, want string }
	rows := []row{
		{"CONNECT api.example.com:" + port + " HTTP/1.1\r\n\r\n" + get, `"HTTP/1.1 200 Connection established"`},
		{"CONNECT api.example.com HTTP/1.1\r\n\r\n", `"HTTP/1.1 403 Forbidden"`},
		{"CONNECT other.example.com:443 HTTP/1.1\r\nHost: api.example.com:" + port + "\r\n\r\n", `"HTTP/1.1 403 Forbidden"`},
		{"CONNECT *:443 HTTP/1.1\r\nHost: x\r\n\r\n", `"HTTP/1.1 403 Forbidden"`},
		{"GET http://api.example.com:" + port + "/ HTTP/1.1\r\nHost: other.example.com\r\nConnection: close\r\n\r\n",
			`"HTTP/1.1 200 OK"`},
		{"GET http://other.example.com/ HTTP/1.1\r\nHost: api.example.com:" + port + "\r\n\r\n", `"HTTP/1.1 403 Forbidden"`},
		{"GET https://api.example.com:" + port + "/ HTTP/1.1\r\nHost: x\r\n\r\n", `"HTTP/1.1 400 Bad Request"`},
		{"GET / HTTP/1.1\r\nHost: api.example.com:" + port + "\r\n\r\n", `"HTTP/1.1 400 Bad Request"`},
		{"GET http://api.example.com:" + port + "/ HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 40<<10) + "\r\n\r\n",
			`"HTTP/1.1 431 Request Header Fields Too Large"`},
		{"\x16\x03\x01", `"HTTP/1.1 400 Bad Request"`},
		{"", `""`},
		{socks("\x03", name) + number + get, `"\x05\x00\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00HTTP/1.0 200 OK"`},
		{socks("\x01", "\x7f\x00\x00\x01") + number + get, `"\x05\x00\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00HTTP/1.0 200 OK"`},
		{socks("\x01", "\x7f\x00\x00\x02") + number, `"\x05\x00\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00"`},
		{socks("\x04", strings.Repeat("\x00", 15)+"\x01") + number, `"\x05\x00\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00"`},
		{socks("\x03", "\x11other.example.com") + number, `"\x05\x00\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00"`},
		{socks("\x03", "\x00") + number, `"\x05\x00\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00"`},
		{socks("\x05", "") + number, `"\x05\x00\x05\b\x00\x01\x00\x00\x00\x00\x00\x00"`},
		{"\x05\x01\x00\x05\x02\x00\x03" + name + number, `"\x05\x00\x05\a\x00\x01\x00\x00\x00\x00\x00\x00"`},
		{"\x05\x00", `"\x05\x00\x05\x01\x00\x01\x00\x00\x00\x00\x00\x00"`},
		{"\x05", `""`},
	}
	var args []string
	for _, row := range rows {
		args = append(args, hex.EncodeToString([]byte(row.send)))
	}
	cmd := self(t, "proxy", args...)
	cmd.Env = append(cmd.Env, r.Environ()...)
	lines := strings.Split(r.run(cmd), "\n")
	for i, row := range rows {
		if i >= len(lines) || lines[i] != row.want {
			t.Errorf("%.80q: %s, not %s", row.send, lines[min(i, len(lines)-1)], row.want)
		}
	}
}
