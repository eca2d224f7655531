package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/indusagi/indus/internal/chain"
	"github.com/indusagi/indus/internal/text"
	"github.com/indusagi/indus/internal/wire"
)

// A line is one object in the form of RFC 8785: its keys are sorted, and it has no white space.
//
//	{"event_hash":"<SHA-256 of the object without this member>","event_id":…,"extensions":{"indus":{…,"seq":7,…}},…}
const (
	hashKey = `{"event_hash":"`
	headLen = len(hashKey) + chain.HashLen + len(`",`) // the rest of the line, after a brace, is what the hash covers
)

// maxLine is the length of the longest line that is read, in bytes. Escaped, a byte takes up to six.
const maxLine = 6 * (2*MaxContent + (24+MaxPolicies)*MaxText)

// localUser is the principal of a caller without authentication.
const localUser = "local"

// normalize changes a record to the form in which it can be read back.
func (r *Record) normalize(now time.Time) {
	if r.At.IsZero() || r.At.Year() < 0 || r.At.Year() > 9999 {
		r.At = now
	}
	r.At = r.At.UTC().Truncate(time.Millisecond)
	if r.Principal == "" {
		r.Principal = localUser
	}
	for _, s := range []*string{
		&r.ID, &r.Principal, &r.Type, &r.Tool, (*string)(&r.Outcome), &r.Target, &r.Server, &r.View, &r.Client,
		&r.ClientVersion, &r.Era, &r.Method, &r.Session, &r.Address, &r.ArgumentDigest, &r.Approval, &r.Approver, &r.Trace,
		&r.ErrorKind, &r.Reason,
	} {
		*s = chain.Clip(*s, MaxText)
	}
	if len(r.Policies) > MaxPolicies {
		r.Policies = r.Policies[:MaxPolicies]
	}
}

// appendLine appends the line of a normalized record that has its Seq and Previous. It sets its Hash.
func (r *Record) appendLine(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, hashKey...)
	dst = append(dst, zeros...)
	dst = appendText(append(dst, `","event_id":`...), r.ID)
	dst = appendText(append(dst, `,"event_type":`...), r.Type)
	dst = r.appendExtension(append(dst, `,"extensions":{"indus":{`...))
	dst = r.At.AppendFormat(append(dst, `}},"occurred_at":"`...), chain.TimeLayout)
	dst = appendText(append(dst, `","outcome":`...), string(r.Outcome))
	dst = appendTextOrNull(append(dst, `,"previous_hash":`...), r.Previous)
	dst = appendText(append(dst, `,"principal_id":`...), r.Principal)
	dst = appendTextOrNull(append(dst, `,"tool_name":`...), r.Tool)
	dst = append(dst, '}')
	line := dst[start:]
	hash := hashOf(line)
	r.Hash = string(hash[:])
	copy(line[len(hashKey):], r.Hash)
	return append(dst, '\n')
}

var zeros = strings.Repeat("0", chain.HashLen)

// hashOf returns the hash of a line: of the object without its first member. Meanwhile, it changes the line.
func hashOf(line []byte) (text [chain.HashLen]byte) {
	before := line[headLen-1]
	line[headLen-1] = line[0]
	sum := sha256.Sum256(line[headLen-1:])
	line[headLen-1] = before
	hex.Encode(text[:], sum[:])
	return text
}

// appendExtension appends the members of the extension, sorted. Empty members are left out.
func (r *Record) appendExtension(dst []byte) []byte {
	start := len(dst)
	text := func(key, s string) {
		if s != "" {
			dst = appendText(append(dst, key...), s)
		}
	}
	number := func(key string, n uint64) {
		if n != 0 {
			dst = strconv.AppendUint(append(dst, key...), n, 10)
		}
	}
	text(`,"address":`, r.Address)
	text(`,"approval":`, r.Approval)
	text(`,"approver":`, r.Approver)
	text(`,"argument_digest":`, r.ArgumentDigest)
	text(`,"arguments":`, content(r.Arguments))
	number(`,"bytes_in":`, uint64(max(0, r.BytesIn)))
	number(`,"bytes_out":`, uint64(max(0, r.BytesOut)))
	text(`,"client":`, r.Client)
	text(`,"client_version":`, r.ClientVersion)
	number(`,"duration_us":`, uint64(max(0, r.Duration.Microseconds())))
	text(`,"era":`, r.Era)
	text(`,"error_kind":`, r.ErrorKind)
	number(`,"lost":`, r.Lost)
	text(`,"method":`, r.Method)
	for i, p := range r.Policies {
		key := `,`
		if i == 0 {
			key = `,"policies":[`
		}
		dst = appendText(append(dst, key...), chain.Clip(p, MaxText))
		if i == len(r.Policies)-1 {
			dst = append(dst, ']')
		}
	}
	text(`,"reason":`, r.Reason)
	text(`,"result":`, content(r.Result))
	number(`,"seq":`, r.Seq)
	text(`,"server":`, r.Server)
	text(`,"session":`, r.Session)
	text(`,"target":`, r.Target)
	text(`,"trace":`, r.Trace)
	text(`,"view":`, r.View)
	return append(dst[:start], dst[start+1:]...) // without the first comma
}

// content returns arguments or a result as a text of bounded length.
func content(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	return strings.ToValidUTF8(text.Clip(string(raw[:min(len(raw), MaxContent+1)]), MaxContent), "\ufffd")
}

func appendTextOrNull(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return appendText(dst, s)
}

// appendText appends a string as RFC 8785 writes it. Unlike [wire.AppendQuote], that does not escape U+2028 and U+2029.
func appendText(dst []byte, s string) []byte {
	const separators = "\u2028\u2029"
	if strings.IndexByte(s, separators[0]) < 0 {
		return wire.AppendQuote(dst, s)
	}
	dst = append(dst, '"')
	for {
		n := strings.IndexAny(s, separators)
		if n < 0 {
			n = len(s)
		}
		quoted := wire.Quote(s[:n])
		dst = append(dst, quoted[1:len(quoted)-1]...)
		if n == len(s) {
			return append(dst, '"')
		}
		end := n + len(separators)/2
		dst = append(dst, s[n:end]...)
		s = s[end:]
	}
}

// These are the reasons to refuse a line, beside [chain.ErrHash].
var (
	errLine    = errors.New("it is no record")
	errTooLong = errors.New("it is too long to be a record")
)

// lineReader reads lines. It shares the texts that lines repeat.
type lineReader struct {
	texts chain.Texts
}

// read reads a line without its end. With [chain.ErrHash], the record has the contents that the line claims.
func (l *lineReader) read(line []byte) (r Record, err error) {
	if len(line) > maxLine {
		return Record{}, errTooLong
	}
	if len(line) < headLen+1 || !bytes.HasPrefix(line, []byte(hashKey)) || line[len(line)-1] != '}' ||
		line[headLen-2] != '"' || line[headLen-1] != ',' {
		return Record{}, errLine
	}
	r.line = line
	r.Hash = string(line[len(hashKey) : len(hashKey)+chain.HashLen])
	if !chain.IsHash(r.Hash) || !l.readMembers(&r, line[headLen:len(line)-1]) {
		return Record{}, errLine
	}
	if hash := hashOf(line); string(hash[:]) != r.Hash {
		return r, chain.ErrHash
	}
	return r, nil
}

// readMembers reads the members after the hash. It skips unknown members, because a later version may have more.
func (l *lineReader) readMembers(r *Record, rest []byte) bool {
	read := wire.EachMember(rest, func(key, value []byte) (ok bool) {
		ok = true
		switch string(key) {
		case "event_id":
			r.ID, ok = chain.Unquote(value, newText)
		case "event_type":
			r.Type, ok = chain.Unquote(value, l.texts.Text)
		case "extensions":
			ok = l.readExtensions(r, value)
		case "occurred_at":
			r.At, ok = readTime(value)
		case "outcome":
			var outcome string
			outcome, ok = chain.Unquote(value, l.texts.Text)
			r.Outcome = Outcome(outcome)
		case "previous_hash":
			r.Previous, ok = readText(value, newText)
		case "principal_id":
			r.Principal, ok = chain.Unquote(value, l.texts.Text)
		case "tool_name":
			r.Tool, ok = readText(value, l.texts.Text)
		}
		return ok
	})
	return read && r.Seq > 0 && r.Seq <= chain.MaxSeq
}

func newText(b []byte) string { return string(b) }

// readText reads a string, or null as "".
func readText(value []byte, text func([]byte) string) (string, bool) {
	if string(value) == "null" {
		return "", true
	}
	return chain.Unquote(value, text)
}

func readTime(value []byte) (time.Time, bool) {
	t, err := time.Parse(`"`+chain.TimeLayout+`"`, string(value))
	return t, err == nil
}

// trimBrackets returns the contents of an object or a list.
func trimBrackets(value []byte) []byte { return value[1 : len(value)-1] }

// readExtensions reads the extension of indus, and skips others.
func (l *lineReader) readExtensions(r *Record, value []byte) bool {
	return value[0] == '{' && wire.EachMember(trimBrackets(value), func(key, value []byte) bool {
		return string(key) != "indus" || value[0] == '{' && l.readExtension(r, trimBrackets(value))
	})
}

func (l *lineReader) readExtension(r *Record, rest []byte) bool {
	return wire.EachMember(rest, func(key, value []byte) (ok bool) {
		ok = true
		var n uint64
		if c := value[0]; c >= '0' && c <= '9' {
			var err error
			n, err = strconv.ParseUint(string(value), 10, 63)
			ok = err == nil
		}
		switch string(key) {
		case "bytes_in":
			r.BytesIn = int64(n)
		case "bytes_out":
			r.BytesOut = int64(n)
		case "duration_us":
			r.Duration = time.Duration(min(n, maxMicroseconds)) * time.Microsecond
		case "lost":
			r.Lost = n
		case "seq":
			r.Seq = n
		case "policies":
			ok = ok && l.readPolicies(r, value)
		case "arguments", "result":
			var raw string
			raw, ok = chain.Unquote(value, newText)
			if string(key) == "result" {
				r.Result = json.RawMessage(raw)
			} else {
				r.Arguments = json.RawMessage(raw)
			}
		default:
			if field := r.text(key); field != nil {
				*field, ok = chain.Unquote(value, l.texts.Text)
			}
		}
		return ok
	})
}

// maxMicroseconds is the longest duration that fits into a [time.Duration].
const maxMicroseconds = (1<<63 - 1) / uint64(time.Microsecond)

// text returns the field of a text of the extension.
func (r *Record) text(key []byte) *string {
	switch string(key) {
	case "address":
		return &r.Address
	case "approval":
		return &r.Approval
	case "approver":
		return &r.Approver
	case "argument_digest":
		return &r.ArgumentDigest
	case "client":
		return &r.Client
	case "client_version":
		return &r.ClientVersion
	case "era":
		return &r.Era
	case "error_kind":
		return &r.ErrorKind
	case "method":
		return &r.Method
	case "reason":
		return &r.Reason
	case "server":
		return &r.Server
	case "session":
		return &r.Session
	case "target":
		return &r.Target
	case "trace":
		return &r.Trace
	case "view":
		return &r.View
	}
	return nil
}

func (l *lineReader) readPolicies(r *Record, value []byte) bool {
	if value[0] != '[' {
		return false
	}
	elements, err := wire.Elements(value)
	if err != nil {
		return false
	}
	for _, e := range elements {
		policy, ok := chain.Unquote(e, l.texts.Text)
		if !ok {
			return false
		}
		r.Policies = append(r.Policies, policy)
	}
	return true
}
