package httpconn

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A connection is not used after the time that its server announced, less a second.
func TestHTTPKeepsTheAnnouncedIdleTime(t *testing.T) {
	for name, tt := range map[string]struct {
		header string
		idle   time.Duration
		used   bool
	}{
		"none":              {"", time.Minute, true},
		"within":            {"timeout=5, max=100", 3900 * time.Millisecond, true},
		"beyond":            {"timeout=5, max=100", 4100 * time.Millisecond, false},
		"a second":          {"timeout=1", 500 * time.Millisecond, false},
		"a second, at once": {"timeout=1", 100 * time.Millisecond, true},
		"the shortest":      {"timeout=2;timeout=60", 1500 * time.Millisecond, false},
		"in another order":  {"max=2, timeout=10", 9500 * time.Millisecond, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := new(Idle)
				if tt.header != "" {
					for header := range strings.SplitSeq(tt.header, ";") {
						a.Learn(http.Header{"Keep-Alive": {header}})
					}
				}
				near, far := net.Pipe()
				defer near.Close()
				defer far.Close()
				go func() {
					b := make([]byte, 1)
					for {
						if _, err := far.Read(b); err != nil {
							return
						}
						if _, err := far.Write(b); err != nil {
							return
						}
					}
				}()
				c := &idleConn{Conn: near, limit: a}
				if _, err := c.Write([]byte("x")); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Read(make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
				time.Sleep(tt.idle)
				if _, err := c.Write([]byte("x")); (err == nil) != tt.used {
					t.Errorf("err = %v", err)
				}
			})
		})
	}
}
