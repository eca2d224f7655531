package wire

import "encoding/json"

// Envelope is one JSON-RPC message as extents of the bytes it was scanned
// from. Each is exactly the value's bytes, nil where the key is absent; a null
// is not nil. A batch (an array) is not an envelope.
type Envelope struct {
	ID, Method, Params, Result, Error json.RawMessage // Method keeps its quotes
	Version                           json.RawMessage // the value of "jsonrpc"; Kind does not look at it
}

// Kind is what a message is to JSON-RPC.
type Kind uint8

// The kinds of message.
const (
	Invalid Kind = iota
	Request
	Notification
	Response
)

func (k Kind) String() string {
	switch k {
	case Request:
		return "request"
	case Notification:
		return "notification"
	case Response:
		return "response"
	}
	return "invalid"
}

// Kind tells the kind by which members are there: a request has a method and
// an id, a notification a method, a response an id and either a result or an
// error; any other mixture is Invalid. A method is a string, an id a string or
// a number; the id of an error may be null, which JSON-RPC wants when the
// request could not be read.
func (e *Envelope) Kind() Kind {
	result, failure := len(e.Result) > 0, len(e.Error) > 0
	switch {
	case len(e.Method) > 0:
		if result || failure || e.Method[0] != '"' {
			return Invalid
		}
		if len(e.ID) == 0 {
			return Notification
		}
		if named(e.ID) {
			return Request
		}
	case result != failure:
		if named(e.ID) || failure && string(e.ID) == "null" {
			return Response
		}
	}
	return Invalid
}

// named reports whether an id can tell one call from another.
func named(id json.RawMessage) bool {
	return len(id) > 0 && (id[0] == '"' || id[0] == '-' || id[0]-'0' < 10)
}

// MethodName returns the method with its quotes off and its escapes decoded,
// or "" if there is none or it is not a string.
func (e *Envelope) MethodName() string {
	s, _ := Unquote(e.Method)
	return s
}

// Scan validates b whole, in one pass, and returns its extents: b must be
// exactly one JSON object, valid as [Valid] has it, with nothing but
// whitespace around it ([SyntaxError]), and no envelope key may be there
// twice or in a spelling that only some readers take for it, like "ID"
// ([KeyError]; b is valid JSON then). Keys are compared decoded: "i\u0064" is
// "id". Other keys are ignored. Scan does not judge whether the message makes
// sense: that is [Envelope.Kind]. It allocates nothing unless it fails.
func Scan(b []byte) (Envelope, error) {
	var (
		e     Envelope
		doubt error
	)
	i := skipSpace(b, 0)
	if i == len(b) || b[i] != '{' {
		return Envelope{}, syntax(b, i, whyUnexpected)
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return e, trailing(b, i+1)
	}
	for {
		m, end, w := member(b, i)
		if w != whyNone {
			return Envelope{}, syntax(b, end, w)
		}
		if err := e.put(b, m); err != nil && doubt == nil {
			doubt = err
		}
		i = skipSpace(b, end)
		if i == len(b) || b[i] != ',' && b[i] != '}' {
			return Envelope{}, syntax(b, i, whyUnexpected)
		}
		if b[i] == '}' {
			break
		}
		i = skipSpace(b, i+1)
	}
	if err := trailing(b, i+1); err != nil {
		return Envelope{}, err
	}
	if doubt != nil {
		return Envelope{}, doubt
	}
	return e, nil
}

// trailing returns an error if anything but whitespace follows from i.
func trailing(b []byte, i int) error {
	if i = skipSpace(b, i); i < len(b) {
		err := syntax(b, i, whyUnexpected)
		err.Reason += " after the object"
		return err
	}
	return nil
}

// span is where a member lies: its key at [start,keyEnd) with quotes, its
// value at [value,end).
type span struct{ start, keyEnd, value, end int }

// member validates the top-level member that begins at i.
func member(b []byte, i int) (m span, end int, w why) {
	m.start = i
	if i == len(b) || b[i] != '"' {
		return m, i, whyUnexpected
	}
	if m.keyEnd, w = scanText(b, i+1); w != whyNone {
		return m, m.keyEnd, w
	}
	if i = skipSpace(b, m.keyEnd); i == len(b) || b[i] != ':' {
		return m, i, whyUnexpected
	}
	m.value = skipSpace(b, i+1)
	m.end, w = scanValue(b, m.value, 1)
	return m, m.end, w
}

// put stores the value of a member if its key is an envelope key.
func (e *Envelope) put(b []byte, m span) error {
	like, exact := envelopeKey(b[m.start:m.keyEnd])
	field := e.field(like)
	if field == nil {
		return nil
	}
	if !exact || *field != nil {
		k, _ := Unquote(b[m.start:m.keyEnd])
		return &KeyError{Key: k, Like: like, Offset: m.start}
	}
	*field = b[m.value:m.end:m.end]
	return nil
}

func (e *Envelope) field(key string) *json.RawMessage {
	switch key {
	case "id":
		return &e.ID
	case "method":
		return &e.Method
	case "params":
		return &e.Params
	case "result":
		return &e.Result
	case "error":
		return &e.Error
	case "jsonrpc":
		return &e.Version
	}
	return nil
}
