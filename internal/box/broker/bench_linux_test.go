package broker_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

const blockSize = 256 << 10

// BenchmarkConnections compares 256 KiB from a host by name with the same from a process without a filter: on one
// connection, and with a connection for each block. The times are medians.
func BenchmarkConnections(b *testing.B) {
	block := bytes.Repeat([]byte("x"), blockSize)
	port := listener(b, func(conn *net.TCPConn) {
		for request := make([]byte, 1); ; {
			if _, err := conn.Read(request); err != nil {
				return
			}
			_, _ = conn.Write(block)
		}
	})
	r := namedRig(b, "big.example.com", port)
	if _, err := r.AnswerQuery(query(b, dnsmessage.TypeA, "big.example.com.")); err != nil {
		b.Fatal(err)
	}
	for range b.N {
		var direct, broker [2]float64
		cmd := self(b, "download", "127.0.0.1:"+port)
		out, err := cmd.Output()
		if err != nil {
			b.Fatal(err)
		}
		boxed := r.run(self(b, "download", "127.0.0.1:"+port))
		for from, to := range map[string]*[2]float64{string(out): &direct, boxed: &broker} {
			if _, err := fmt.Sscan(from, &to[0], &to[1]); err != nil {
				b.Fatal(from, err)
			}
		}
		b.ReportMetric(broker[0]/direct[0], "block-ratio")
		b.ReportMetric(broker[1]/direct[1], "connection-ratio")
		b.ReportMetric(broker[0], "block-µs")
		b.ReportMetric(broker[1], "connection-µs")
	}
}

func init() { fixtures["download"] = download }

// download prints the median time of a block, in microseconds, on one connection and with a connection for each.
func download() {
	buf := make([]byte, blockSize)
	block := func(conn net.Conn) {
		if _, err := conn.Write(buf[:1]); err != nil {
			panic(err)
		}
		if _, err := io.ReadFull(conn, buf); err != nil {
			panic(err)
		}
	}
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", os.Args[1])
		if err != nil {
			panic(err)
		}
		return conn
	}
	median := func(run func()) float64 {
		times := make([]time.Duration, 400)
		for i := range times {
			start := time.Now()
			run()
			times[i] = time.Since(start)
		}
		slices.Sort(times)
		return float64(times[len(times)/2].Nanoseconds()) / 1000
	}
	one := dial()
	fmt.Println(median(func() { block(one) }), median(func() {
		conn := dial()
		block(conn)
		_ = conn.Close()
	}))
}
