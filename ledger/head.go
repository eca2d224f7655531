package ledger

import (
	"bytes"
	"strconv"
	"time"

	"github.com/indusagi/indus/internal/wire"
)

// maxSeq is what every reader of JSON takes.
const maxSeq = 1<<53 - 1

// readHead reads what the hash covers. What it does not know it reads over: a later
// version may say more.
func (e *Entry) readHead(raw []byte, text func([]byte) string) (format string, err error) {
	if format, ok := e.readPlainHead(raw, text); ok {
		return format, nil
	}
	hash := e.Hash
	*e = Entry{Hash: hash}
	obj := append(bytes.Clone(raw), '}')
	if !wire.Valid(obj) {
		return "", errLine
	}
	members, err := wire.Members(obj)
	if err != nil {
		return "", errLine
	}
	ok := true
	for _, m := range members {
		switch m.Key {
		case "seq":
			ok = e.readSeq(m.Value) && ok
		case "at":
			at, _ := wire.Unquote(m.Value)
			e.At, err = time.Parse(stamp, at)
			ok = ok && err == nil
		case "changed":
			e.Changed = string(m.Value) == "true"
		default:
			if into := e.text(m.Key, &format); into != nil {
				var isText bool
				*into, isText = wire.Unquote(m.Value)
				ok = ok && isText
			}
		}
	}
	if !ok || e.Seq == 0 {
		return "", errLine
	}
	return format, nil
}

// readPlainHead is readHead for nearly every line that there is: as [appendLine] writes
// it, with nothing but ASCII in it and nothing escaped. It takes a tenth of the time. ok
// is false for every other line, whatever it is.
func (e *Entry) readPlainHead(raw []byte, text func([]byte) string) (format string, ok bool) {
	rest, ok := bytes.CutPrefix(raw, []byte(`{"seq":`))
	if !ok {
		return "", false
	}
	n := bytes.IndexByte(rest, ',')
	if n < 1 || rest[0] == '0' || !e.readSeq(rest[:n]) {
		return "", false
	}
	for rest = rest[n:]; len(rest) > 0; {
		key, value, after, ok := plainMember(rest)
		if !ok {
			return "", false
		}
		switch into := e.text(string(key), &format); {
		case into != nil:
			*into = text(value)
		case string(key) == "at":
			at, err := time.Parse(stamp, string(value))
			if err != nil {
				return "", false
			}
			e.At = at
		default:
			return "", false
		}
		if rest = after; bytes.HasPrefix(rest, []byte(changedTrue)) {
			e.Changed, rest = true, rest[len(changedTrue):]
		}
	}
	return format, true
}

const changedTrue = `,"changed":true`

// plainMember is the first member of rest, `,"key":"value"`, and what is behind it.
func plainMember(rest []byte) (key, value, after []byte, ok bool) {
	if rest, ok = bytes.CutPrefix(rest, []byte(`,"`)); !ok {
		return nil, nil, nil, false
	}
	if key, rest, ok = bytes.Cut(rest, []byte(`":"`)); !ok {
		return nil, nil, nil, false
	}
	if value, after, ok = bytes.Cut(rest, []byte(`"`)); !ok || !plainText(value) {
		return nil, nil, nil, false
	}
	return key, value, after, true
}

// plainText reports whether a text stands in JSON as it is.
func plainText(b []byte) bool {
	for _, c := range b {
		if c < 0x20 || c > 0x7e || c == '\\' {
			return false
		}
	}
	return true
}

// readSeq reads a number, and reports whether it is one that an entry may have.
func (e *Entry) readSeq(digits []byte) (ok bool) {
	n, err := strconv.ParseUint(string(digits), 10, 64)
	e.Seq = n
	return err == nil && n > 0 && n <= maxSeq
}

// text is where a text of a line goes.
func (e *Entry) text(key string, format *string) *string {
	switch key {
	case "run":
		return &e.Run
	case "op":
		return (*string)(&e.Op)
	case "server":
		return &e.Server
	case "tool":
		return &e.Tool
	case "name":
		return &e.Name
	case "key":
		return (*string)(&e.Key)
	case "config":
		return &e.Config
	case "sum":
		return &e.Sum
	case "seal":
		return &e.Seal
	case "format":
		return format
	case "note":
		return &e.Note
	case "prev":
		return &e.Prev
	}
	return nil
}
