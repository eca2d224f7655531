package ledger

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/indusagi/indus/internal/chain"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/toolbox"
)

// A line consists of the head of an entry, its hash, and optionally a body:
//
//	{"seq":7,…,"prev":"<hash of the line before>","hash":"<SHA-256 of what precedes it>","body":{the tool object}}
//
// The hash covers only the head, and the head has the sum of the body. So a body can be left out if an earlier line has
// it, and the chain is still valid. The body of an Archive entry is {"entries":[the lines that it holds]}.
const (
	hashKey  = `,"hash":"`
	bodyKey  = `,"body":`
	bytesKey = `,"bytes":"` // a body that is not one line of JSON, in base64
)

const (
	// maxBody is the size of the largest tool object that is stored, in bytes. Of a larger one, only the sum is stored.
	maxBody = 1 << 20
	// maxLine is the length of the longest line that is read, in bytes. The lines that this package writes are much
	// shorter.
	maxLine = 4 << 20
	// maxFirst is the limit for the first line of a file, in bytes. That line holds the approved
	// and live tools.
	maxFirst = 64 << 20
	// maxText bounds every other text of a line, in bytes.
	maxText = 1 << 10
)

// record is an entry in the form of its line.
type record struct {
	Entry
	format string // of the tool object
	body   []byte // the tool object: a part of the line, or new; nil: the line has none
}

// member is a text of a line.
type member struct {
	key  string
	text *string
}

// members returns the texts of a line, in order.
func (r *record) members() [11]member {
	return [...]member{
		{"run", &r.Run}, {"op", (*string)(&r.Op)}, {"server", &r.Server}, {"tool", &r.Tool},
		{"name", &r.Name}, {"key", (*string)(&r.Key)}, {"config", &r.Config}, {"sum", &r.Sum},
		{"format", &r.format}, {"note", &r.Note}, {"prev", &r.Prev},
	}
}

// newRecord converts an entry to the form of a line. Texts become valid UTF-8 of bounded length, and the time is
// truncated to milliseconds. The record has the sum of its tool, and the tool object unless it is too large.
func newRecord(e Entry) *record {
	r := &record{Entry: e}
	if e.Capability != nil {
		r.Sum = sumOf(e.Capability)
		r.format = e.Capability.Wire.Format
		if raw := e.Capability.Wire.JSON; len(raw) > 0 && len(raw) <= maxBody {
			r.body = raw
		}
	}
	for _, m := range r.members() {
		*m.text = clip(*m.text)
	}
	r.At = e.At.UTC().Truncate(time.Millisecond)
	if r.At.Year() < 0 || r.At.Year() > 9999 {
		r.At = time.Time{}
	}
	return r
}

// clip shortens a text that is too long or not UTF-8.
func clip(s string) string { return chain.Clip(s, maxText) }

// appendLine appends the record's line, with its body if it has one, and sets its hash.
func (r *record) appendLine(dst []byte) []byte {
	start := len(dst)
	dst = strconv.AppendUint(append(dst, `{"seq":`...), r.Seq, 10)
	dst = r.At.AppendFormat(append(dst, `,"at":"`...), chain.TimeLayout)
	dst = append(dst, '"')
	if r.Changed {
		dst = append(dst, `,"changed":true`...)
	}
	for _, m := range r.members() {
		if *m.text != "" {
			dst = append(append(append(dst, `,"`...), m.key...), `":`...)
			dst = wire.AppendQuote(dst, *m.text)
		}
	}
	r.Hash = chain.Hash(dst[start:])
	dst = append(append(append(dst, hashKey...), r.Hash...), '"')
	switch {
	case r.body == nil:
	case isOneObject(r.body):
		dst = append(append(dst, bodyKey...), r.body...)
	default:
		dst = append(base64.StdEncoding.AppendEncode(append(dst, bytesKey...), r.body), '"')
	}
	return append(dst, "}\n"...)
}

// isOneObject reports whether raw can be written into a line and read back unchanged.
func isOneObject(raw []byte) bool {
	return len(raw) > 0 && raw[0] == '{' && raw[len(raw)-1] == '}' && utf8.Valid(raw) &&
		bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 && wire.Valid(raw)
}

// These are the reasons to refuse a line.
var (
	errLine    = errors.New("it is no entry")
	errBody    = errors.New("its tool object was altered: it does not have the sum that the entry states")
	errTooLong = errors.New("it is too long to be an entry")
)

// readLine reads a line without its end. The body is nil if the line has none, or if it does not match its sum. In
// the second case the error is errBody. With chain.ErrHash, the entry has the contents that the line claims. text
// makes strings.
func readLine(line []byte, text func([]byte) string) (r record, err error) {
	at := bytes.Index(line, []byte(hashKey))
	if at < 0 || len(line) < at+len(hashKey)+chain.HashLen+2 {
		return record{}, errLine
	}
	rest := line[at+len(hashKey):]
	hash := string(rest[:chain.HashLen])
	if rest[chain.HashLen] != '"' || !chain.IsHash(hash) || !r.readHead(line[:at], text) {
		return record{}, errLine
	}
	r.Hash = hash
	if chain.Hash(line[:at]) != hash {
		return r, chain.ErrHash
	}
	r.body, err = readBody(rest[chain.HashLen+1:], r.Sum)
	return r, err
}

// readHead reads the part that the hash covers, an object without nested values. It skips unknown members, because a
// later version may have more.
func (r *record) readHead(head []byte, text func([]byte) string) (ok bool) {
	head, ok = bytes.CutPrefix(head, []byte(`{`))
	members := r.members()
	return ok && wire.EachMember(head, func(key, value []byte) (ok bool) {
		ok = true
		switch string(key) {
		case "seq":
			var err error
			r.Seq, err = strconv.ParseUint(string(value), 10, 64)
			ok = err == nil && r.Seq <= chain.MaxSeq
		case "at":
			var err error
			r.At, err = time.Parse(`"`+chain.TimeLayout+`"`, string(value))
			ok = err == nil
		case "changed":
			r.Changed = string(value) == "true"
		default:
			for _, m := range members {
				if m.key == string(key) {
					*m.text, ok = chain.Unquote(value, text)
				}
			}
		}
		return ok
	}) && r.Seq > 0
}

// readBody reads the part after the hash. Only the sum protects it.
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
		body, err = base64.StdEncoding.AppendDecode(nil, coded)
		if err != nil {
			return nil, errBody
		}
	}
	if chain.Hash(body) != sum {
		return nil, errBody
	}
	return body, nil
}

// capabilityFromLog returns the tool that the tool object of an entry describes. It cannot be run.
func capabilityFromLog(e *Entry, w toolbox.Wire) *Capability {
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
