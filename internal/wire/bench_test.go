package wire_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/indusagi/indus/internal/wire"
)

// The fixtures are typical results of tool servers: one long string, a string with the escapes of a
// source file and of JSON within JSON, structured rows, and a call.
func fixtures() []struct {
	name string
	b    []byte
} {
	text := func(s string) []byte {
		q, _ := json.Marshal(strings.Repeat(s, 256<<10/len(s)))
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":17,"result":{"content":[{"type":"text","text":%s}],"isError":false}}`,
			q)
	}
	var rows bytes.Buffer
	for i := 0; rows.Len() < 256<<10; i++ {
		fmt.Fprintf(&rows, `,{"id":%d,"name":"row-%d","ok":true,"score":%d.5,"tags":["a","bb","ccc"],"none":null}`, i, i, i)
	}
	return []struct {
		name string
		b    []byte
	}{
		{"text256K", text("The quick brown fox jumps over the lazy dog and goes on. ")},
		{"lines256K", text("\tif err := f(x, \"y\"); err != nil {\n\t\treturn err\n\t}\n")},
		{"rows256K", fmt.Appendf(nil, `{"jsonrpc":"2.0","id":17,"result":{"rows":[%s]}}`, rows.Bytes()[1:])},
		{"call100B", []byte(`{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"}}}`)},
	}
}

func BenchmarkScan(b *testing.B) {
	for _, f := range fixtures() {
		b.Run(f.name+"/wire.Scan", func(b *testing.B) {
			b.SetBytes(int64(len(f.b)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := wire.Scan(f.b); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(f.name+"/json.Valid", func(b *testing.B) {
			b.SetBytes(int64(len(f.b)))
			b.ReportAllocs()
			for b.Loop() {
				json.Valid(f.b)
			}
		})
		b.Run(f.name+"/json.Unmarshal", func(b *testing.B) {
			b.SetBytes(int64(len(f.b)))
			b.ReportAllocs()
			for b.Loop() {
				var e struct {
					JSONRPC string          `json:"jsonrpc"`
					ID      json.RawMessage `json:"id"`
					Method  string          `json:"method"`
					Params  json.RawMessage `json:"params"`
					Result  json.RawMessage `json:"result"`
					Error   json.RawMessage `json:"error"`
				}
				if err := json.Unmarshal(f.b, &e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkMembers(b *testing.B) {
	for _, f := range fixtures() {
		b.Run(f.name, func(b *testing.B) {
			b.SetBytes(int64(len(f.b)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := wire.Members(f.b); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkLookup(b *testing.B) {
	f := fixtures()[0]
	b.SetBytes(int64(len(f.b)))
	b.ReportAllocs()
	for b.Loop() {
		wire.Lookup(f.b, "result")
	}
}

func BenchmarkRewrite(b *testing.B) {
	for _, f := range fixtures() {
		b.Run(f.name, func(b *testing.B) {
			id := json.RawMessage("18")
			b.SetBytes(int64(len(f.b)))
			b.ReportAllocs()
			for b.Loop() {
				_, _ = wire.Rewrite(f.b, wire.Edit{Key: "id", Value: id})
			}
		})
	}
}

func BenchmarkLines(b *testing.B) {
	call := append(fixtures()[3].b, '\n')
	for _, f := range []struct {
		name string
		b    []byte
		n    int
	}{
		{"small", bytes.Repeat(call, 1000), 1000},
		{"256K", bytes.Repeat(append(fixtures()[0].b, '\n'), 40), 40},
		{"10M", append(bytes.Repeat([]byte("x"), 10<<20), '\n'), 1},
	} {
		b.Run(f.name+"/wire.Lines", func(b *testing.B) {
			b.SetBytes(int64(len(f.b)))
			b.ReportAllocs()
			for b.Loop() {
				l := wire.NewLines(bytes.NewReader(f.b), 64<<20)
				for range f.n {
					if _, err := l.Next(); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
		b.Run(f.name+"/bufio.ReadBytes", func(b *testing.B) {
			b.SetBytes(int64(len(f.b)))
			b.ReportAllocs()
			for b.Loop() {
				l := bufio.NewReader(io.LimitReader(bytes.NewReader(f.b), 1<<40))
				for range f.n {
					if _, err := l.ReadBytes('\n'); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func BenchmarkEvents(b *testing.B) {
	call := string(fixtures()[3].b)
	for _, f := range []struct {
		name string
		b    []byte
		n    int
	}{
		{"small", []byte(strings.Repeat("event: message\nid: 1\ndata: "+call+"\n\n", 1000)), 1000},
		{"10M", []byte("data: " + strings.Repeat("x", 10<<20) + "\r\n\r\n"), 1},
		{"emptyCR", []byte(strings.Repeat("\r", 1<<20) + "data\n\n"), 1},
	} {
		b.Run(f.name, func(b *testing.B) {
			b.SetBytes(int64(len(f.b)))
			b.ReportAllocs()
			for b.Loop() {
				e := wire.NewEvents(bytes.NewReader(f.b), 64<<20)
				for range f.n {
					if _, err := e.Next(); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func BenchmarkQuote(b *testing.B) {
	s := strings.Repeat("\tif err := f(x, \"y\"); err != nil {\n\t\treturn err\n\t}\n", 5000)
	b.Run("wire.AppendQuote", func(b *testing.B) {
		b.SetBytes(int64(len(s)))
		var out []byte
		for b.Loop() {
			out = wire.AppendQuote(out[:0], s)
		}
	})
	b.Run("json.Encoder", func(b *testing.B) {
		b.SetBytes(int64(len(s)))
		var out bytes.Buffer
		for b.Loop() {
			out.Reset()
			enc := json.NewEncoder(&out)
			enc.SetEscapeHTML(false)
			_ = enc.Encode(s)
		}
	})
}
