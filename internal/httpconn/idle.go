// Package httpconn adapts HTTP clients to servers as they are. An [Idle] keeps the idle time that a server announces,
// [Decode] reads codings of answers that were not asked for, and [Reason] shortens the error of a failed request.
//
// All are safe for concurrent use. Decode changes only its answer.
package httpconn

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

// Idle is the shortest time that the servers of a client announce for idle connections, in nanoseconds. The zero value
// means that none is announced.
type Idle struct{ announced atomic.Int64 }

// Learn stores the time in "Keep-Alive: timeout=N".
func (i *Idle) Learn(h http.Header) {
	values := h["Keep-Alive"]
	if len(values) == 0 {
		return
	}
	for field := range strings.SplitSeq(values[0], ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		n, err := strconv.Atoi(strings.Trim(value, `"`))
		if strings.EqualFold(name, "timeout") && err == nil && n > 0 && n < 1<<20 {
			d := time.Duration(n) * time.Second
			i.shorten(int64(max(d-keepAliveSpare, d/4)))
		}
	}
}

func (i *Idle) shorten(to int64) {
	for {
		now := i.announced.Load()
		if now != 0 && now <= to || i.announced.CompareAndSwap(now, to) {
			return
		}
	}
}

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// Dial wraps the connections of a dialer, so that none is used after the announced time.
func (i *Idle) Dial(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &idleConn{Conn: c, limit: i}, nil
	}
}

// idleConn is a connection that refuses to write after it was idle for too long.
type idleConn struct {
	net.Conn
	limit *Idle
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
	limit, read := c.limit.announced.Load(), c.read.Swap(0)
	if limit != 0 && read != 0 && time.Now().UnixNano()-read > limit {
		return 0, errIdleTooLong
	}
	return c.Conn.Write(p)
}
