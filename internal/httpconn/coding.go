package httpconn

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/indusagi/indus/internal/protocol"
)

// Readable reports whether Decode reads all codings that a value of Accept-Encoding accepts.
func Readable(accepted string) bool {
	for item := range strings.SplitSeq(accepted, ",") {
		coding, weight, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(item), " ", ""), ";")
		refused := weight == "q=0"
		if !refused && coding != "identity" && decoders[coding] == nil {
			return false
		}
	}
	return true
}

var decoders = map[string]func(*bufio.Reader) (io.Reader, error){
	"gzip":    func(b *bufio.Reader) (io.Reader, error) { return gzip.NewReader(b) },
	"x-gzip":  func(b *bufio.Reader) (io.Reader, error) { return gzip.NewReader(b) }, // RFC 9110, 8.4.1.3
	"deflate": openDeflate,
}

// Decode makes the body of an answer readable if it has a coding that net/http has left. If the coding is not known,
// the error names it. Answers with a status other than 2xx are left as they are.
func Decode(answer *http.Response) error {
	coding := strings.ToLower(strings.TrimSpace(answer.Header.Get("Content-Encoding")))
	if coding == "" || coding == "identity" || answer.StatusCode/100 != 2 || answer.ContentLength == 0 {
		return nil
	}
	open := decoders[coding]
	if open == nil {
		return fmt.Errorf("the answer has the Content-Encoding %q, which was not asked for", protocol.Printable(coding, 40))
	}
	answer.Body, answer.ContentLength = &decoder{open: open, coded: answer.Body}, -1
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
