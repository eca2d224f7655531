package conn

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"strings"

	"github.com/indusagi/indus/internal/protocol"
)

// decode makes the body readable if it has a coding that net/http has left: one that was not asked for. x-gzip is gzip
// (RFC 9110, 8.4.1.3). Another coding of an answer is an error that names it.
func (r *httpReply) decode() error {
	coding := strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding")))
	if coding == "" || coding == "identity" || r.StatusCode/100 != 2 || r.ContentLength == 0 {
		return nil
	}
	open := map[string]func(*bufio.Reader) (io.Reader, error){
		"gzip":    func(b *bufio.Reader) (io.Reader, error) { return gzip.NewReader(b) },
		"x-gzip":  func(b *bufio.Reader) (io.Reader, error) { return gzip.NewReader(b) },
		"deflate": openDeflate,
	}[coding]
	if open == nil {
		return &ProtocolError{fmt.Sprintf("an answer with the Content-Encoding %q, which was not asked for",
			protocol.Printable(coding, 40)), nil}
	}
	r.body.ReadCloser = &decoder{open: open, coded: r.Response.Body}
	r.ContentLength = -1
	return nil
}

// openDeflate reads the zlib format of RFC 9110, or the raw format that some servers send.
func openDeflate(b *bufio.Reader) (io.Reader, error) {
	if head, err := b.Peek(2); err == nil && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		return zlib.NewReader(b)
	}
	return flate.NewReader(b), nil
}

// decoder decodes a body. It begins with the first read.
type decoder struct {
	open  func(*bufio.Reader) (io.Reader, error)
	coded io.ReadCloser
	plain io.Reader
}

func (d *decoder) Read(p []byte) (n int, err error) {
	if d.plain == nil {
		if d.plain, err = d.open(bufio.NewReader(d.coded)); err != nil {
			return 0, err
		}
	}
	return d.plain.Read(p)
}

func (d *decoder) Close() error { return d.coded.Close() }
