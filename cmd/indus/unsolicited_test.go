package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
)

// TestWhatNetHTTPLogsIsMasked checks text that a server sends after its answer, which net/http logs. It reaches stderr
// only with --log-level, and never with the server's credential.
func TestWhatNetHTTPLogsIsMasked(t *testing.T) {
	const token = "a-token-that-nobody-guesses"
	to := repeatingProxy(t, fixture.New(t).HTTP())
	config := filepath.Join(t.TempDir(), "servers.json")
	row := fmt.Sprintf(`{"servers":{"web":{"url":%q,"headers":{"Authorization":"Bearer ${GIVEN}"}}}}`, to)
	if err := os.WriteFile(config, []byte(row), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, level := range []string{"off", "warn"} {
		p := start(t, t.TempDir(), append(os.Environ(), "GIVEN="+token), "indus", "mcp", "ls", "--mcp", config, "--log-level",
			level)
		p.ends(0)
		said := p.err.String() + p.out.String()
		if part := findSecret(said, token); part != "" || strings.Contains(said, "Unsolicited") != (level == "warn") {
			t.Errorf("--log-level %s shows %q:\n%s", level, part, said)
		}
	}
}

// repeatingProxy is in front of a server. After each answer it sends the Authorization of the request again.
func repeatingProxy(t *testing.T, server string) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for in := bufio.NewReader(c); repeatAnswer(c, in, server); {
				}
			}()
		}
	}()
	return "http://" + l.Addr().String() + "/mcp"
}

func repeatAnswer(c net.Conn, in *bufio.Reader, server string) bool {
	r, err := http.ReadRequest(in)
	if err != nil {
		return false
	}
	body, _ := io.ReadAll(r.Body)
	req, err := http.NewRequest(r.Method, server, bytes.NewReader(body))
	if err != nil {
		return false
	}
	req.Header = r.Header
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return false
	}
	answer, _ := io.ReadAll(res.Body)
	res.Body.Close()
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(answer)), int64(len(answer))
	var out bytes.Buffer
	_ = res.Write(&out)
	credential := r.Header.Get("Authorization")
	fmt.Fprintf(&out, "%s %s", credential, base64.StdEncoding.EncodeToString([]byte(credential)))
	_, err = c.Write(out.Bytes())
	return err == nil
}
