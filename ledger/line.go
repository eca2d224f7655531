package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/toolbox"
)

// A line is the head of an entry, its hash, and perhaps a body:
//
//	{"seq":7,…,"prev":"<hash of the line before>","hash":"<SHA-256 of what stands before>","body":{the tool object}}
//
// The hash covers the head alone; the head has the sum of the body. So a body can
// be left out, because an earlier line has it or because it was compacted away, and
// the chain holds.
const (
	hashKey  = `,"hash":"`
	bodyKey  = `,"body":`
	bytesKey = `,"bytes":"` // a body that is not one line of JSON, in base64
	hashLen  = 2 * sha256.Size
)

const (
	// maxBody is the largest tool object that is kept; of a larger one only the sum.
	maxBody = 1 << 20
	// maxLine is the longest line that is read. None that we write is near it.
	maxLine = 4 << 20
	// maxText bounds every other text of a line.
	maxText = 1 << 10
)

const stamp = "2006-01-02T15:04:05.000Z"

// plain is e as a line can say it: texts in UTF-8 and of bounded length, the time in
// milliseconds.
func (e Entry) plain() Entry {
	for _, s := range []*string{&e.Server, &e.Tool, &e.Name, &e.Run, &e.Config, &e.Sum, &e.Seal, &e.Note, (*string)(&e.Key), (*string)(&e.Op)} {
		*s = clip(*s)
	}
	e.At = e.At.UTC().Truncate(time.Millisecond)
	if e.At.Year() < 0 || e.At.Year() > 9999 {
		e.At = time.Time{}
	}
	return e
}

// clip keeps two long texts apart by a hash.
func clip(s string) string {
	if len(s) <= maxText && utf8.ValidString(s) {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	if len(s) > maxText/2 {
		s = s[:maxText/2]
	}
	return strings.ToValidUTF8(s, "\uFFFD") + "…" + hex.EncodeToString(sum[:8])
}

// appendLine appends the line of a plain entry, with the bytes of its tool if
// withBody, and returns its hash.
func appendLine(dst []byte, e Entry, withBody bool) (line []byte, hash string) {
	start := len(dst)
	dst = strconv.AppendUint(append(dst, `{"seq":`...), e.Seq, 10)
	text := func(key, value string) {
		if value != "" {
			dst = append(append(append(dst, `,"`...), key...), `":`...)
			dst = wire.AppendQuote(dst, value)
		}
	}
	text("at", e.At.Format(stamp))
	text("run", e.Run)
	text("op", string(e.Op))
	text("server", e.Server)
	text("tool", e.Tool)
	text("name", e.Name)
	text("key", string(e.Key))
	text("config", e.Config)
	text("sum", e.Sum)
	text("seal", e.Seal)
	if e.Capability != nil {
		text("format", clip(e.Capability.Wire.Format))
	}
	if e.Changed {
		dst = append(dst, `,"changed":true`...)
	}
	text("note", e.Note)
	text("prev", e.Prev)
	sum := sha256.Sum256(dst[start:])
	hash = hex.EncodeToString(sum[:])
	dst = append(append(append(dst, hashKey...), hash...), '"')
	if withBody {
		dst = appendBody(dst, e.Capability.Wire.JSON)
	}
	return append(dst, "}\n"...), hash
}

// appendBody keeps the bytes as they are.
func appendBody(dst, raw []byte) []byte {
	if embeds(raw) {
		return append(append(dst, bodyKey...), raw...)
	}
	return append(base64.StdEncoding.AppendEncode(append(dst, bytesKey...), raw), '"')
}

// embeds reports whether raw comes out of a line as it went in.
func embeds(raw []byte) bool {
	return len(raw) > 0 && raw[0] == '{' && raw[len(raw)-1] == '}' && utf8.Valid(raw) &&
		bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 && wire.Valid(raw)
}

// Why a line is refused.
var (
	errLine    = errors.New("it is no entry")
	errHash    = errors.New("it was altered: its hash is not that of its text")
	errBody    = errors.New("its tool object was altered: it has not the sum that the entry says")
	errTooLong = errors.New("it is too long to be an entry")
)

// readLine reads a line without its end. The body is nil where the line has none,
// and where it is not what the entry says: then the error is errBody. With errHash
// the entry is what the line claims to be. The body is a part of the line, or new; text
// makes strings.
func readLine(line []byte, text func([]byte) string) (e Entry, format string, body []byte, err error) {
	at := bytes.Index(line, []byte(hashKey))
	if at < 0 || len(line) < at+len(hashKey)+hashLen+2 {
		return e, "", nil, errLine
	}
	rest := line[at+len(hashKey):]
	e.Hash = string(rest[:hashLen])
	if rest[hashLen] != '"' || strings.Trim(e.Hash, "0123456789abcdef") != "" {
		return e, "", nil, errLine
	}
	if format, err = e.readHead(line[:at], text); err != nil {
		return Entry{}, "", nil, err
	}
	sum := sha256.Sum256(line[:at])
	if hex.EncodeToString(sum[:]) != e.Hash {
		return e, "", nil, errHash
	}
	body, err = readBody(rest[hashLen+1:], e.Sum)
	return e, format, body, err
}

// readBody reads what stands behind the hash. It is covered by nothing but the sum.
func readBody(rest []byte, sum string) ([]byte, error) {
	inner, ok := bytes.CutSuffix(rest, []byte("}"))
	if !ok {
		return nil, errBody
	}
	if len(inner) == 0 {
		return nil, nil
	}
	body, ok := bytes.CutPrefix(inner, []byte(bodyKey))
	if !ok {
		coded, _ := bytes.CutPrefix(inner, []byte(bytesKey))
		coded, _ = bytes.CutSuffix(coded, []byte(`"`))
		var err error
		if body, err = base64.StdEncoding.AppendDecode(nil, coded); err != nil {
			return nil, errBody
		}
	}
	if got := sha256.Sum256(body); hex.EncodeToString(got[:]) != sum {
		return nil, errBody
	}
	return body, nil
}

// remembered is a tool as its bytes tell of it. It cannot be run.
func remembered(e Entry, w toolbox.Wire) *Capability {
	c := &Capability{Name: e.Name, Server: e.Server, Tool: e.Tool, Wire: w}
	if !wire.Valid(w.JSON) {
		return c
	}
	if d, ok := wire.Lookup(w.JSON, "description"); ok {
		c.Description, _ = wire.Unquote(d)
	}
	c.Schema, _ = wire.Lookup(w.JSON, "inputSchema")
	c.Parameters = c.Schema
	return c
}
