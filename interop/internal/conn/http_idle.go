package conn

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// keepAliveSpare is subtracted from the idle time that a server announces, for the way of the request.
const keepAliveSpare = time.Second

// errIdleTooLong ends the use of an idle connection before a byte is written. So net/http sends the request on another.
var errIdleTooLong = errors.New("the connection was idle for too long")

// announcedIdle is the time for which the connections to a server may be idle, in nanoseconds. 0: none is announced.
type announcedIdle struct{ atomic.Int64 }

// learn stores the time in "Keep-Alive: timeout=N".
func (a *announcedIdle) learn(h http.Header) {
	values := h["Keep-Alive"]
	if len(values) == 0 {
		return
	}
	for field := range strings.SplitSeq(values[0], ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		n, err := strconv.Atoi(strings.Trim(value, `"`))
		if strings.EqualFold(name, "timeout") && err == nil && n > 0 && n < 1<<20 {
			d := time.Duration(n) * time.Second
			a.Store(int64(max(d-keepAliveSpare, d/4)))
		}
	}
}

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// dial wraps the connections of a dialer, so that none is used after the announced time.
func (a *announcedIdle) dial(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &idleConn{Conn: c, limit: a}, nil
	}
}

// idleConn is a connection that refuses to write after it was idle for too long.
type idleConn struct {
	net.Conn
	limit *announcedIdle
	read  atomic.Int64 // time of the last read, in nanoseconds; 0: something was written since
}

func (c *idleConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.read.Store(time.Now().UnixNano())
	}
	return n, err
}

func (c *idleConn) Write(p []byte) (int, error) {
	limit, read := c.limit.Load(), c.read.Swap(0)
	if limit != 0 && read != 0 && time.Now().UnixNano()-read > limit {
		return 0, errIdleTooLong
	}
	return c.Conn.Write(p)
}
