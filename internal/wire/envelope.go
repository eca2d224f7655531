package wire

import "encoding/json"

// Envelope is one JSON-RPC message as extents of the scanned bytes. Each extent is exactly the
// value's bytes. It is nil if the key is absent, but not if the value is null. A batch (an array)
// is not an envelope.
type Envelope struct {
	ID, Method, Params, Result, Error json.RawMessage // Method keeps its quotes
	Version                           json.RawMessage // the value of "jsonrpc"; Kind ignores it
}

// Kind is the kind of a message in JSON-RPC.
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

// Kind returns the kind of the message by its members. A request has a method and an id. A
// notification has a method. A response has an id and either a result or an error. Any other
// combination is Invalid. A method is a string, and an id is a string or a number. The id of an
// error may be null, which JSON-RPC requires if the request could not be read.
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
		if isValidID(e.ID) {
			return Request
		}
	case result != failure:
		if isValidID(e.ID) || failure && string(e.ID) == "null" {
			return Response
		}
	}
	return Invalid
}

// isValidID reports whether an id can identify a call.
func isValidID(id json.RawMessage) bool {
	return len(id) > 0 && (id[0] == '"' || id[0] == '-' || id[0]-'0' < 10)
}

// MethodName returns the decoded method without quotes. It returns "" if there is none or it is not
// a string.
func (e *Envelope) MethodName() string {
	s, _ := Unquote(e.Method)
	return s
}

// Scan validates all of b in one pass, and returns its extents. b must be exactly one JSON object,
// valid as in [Valid], with only whitespace around it; otherwise the error is a [SyntaxError]. If
// an envelope key is repeated, or is spelled so that only some readers accept it, like "ID", the
// error is a [KeyError], and b is valid JSON. Keys are compared decoded: "i\u0064" is "id". Other
// keys are ignored. Scan does not check whether the message is complete: use [Envelope.Kind]. It
// allocates only if it fails.
func Scan(b []byte) (Envelope, error) {
	var (
		e     Envelope
		doubt error
	)
	i := skipSpace(b, 0)
	if i == len(b) || b[i] != '{' {
		return Envelope{}, syntaxError(b, i, stopUnexpected)
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return e, trailing(b, i+1)
	}
	for {
		m, end, w := scanMember(b, i)
		if w != stopNone {
			return Envelope{}, syntaxError(b, end, w)
		}
		if err := e.put(b, m); err != nil && doubt == nil {
			doubt = err
		}
		i = skipSpace(b, end)
		if i == len(b) || b[i] != ',' && b[i] != '}' {
			return Envelope{}, syntaxError(b, i, stopUnexpected)
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

// trailing returns an error if bytes other than whitespace follow from i.
func trailing(b []byte, i int) error {
	i = skipSpace(b, i)
	if i < len(b) {
		err := syntaxError(b, i, stopUnexpected)
		err.Reason += " after the object"
		return err
	}
	return nil
}

// span is the place of a member: its key at [start,keyEnd) with quotes, its value at [value,end).
type span struct{ start, keyEnd, value, end int }

// scanMember validates the top-level member that begins at i.
func scanMember(b []byte, i int) (m span, end int, w stopReason) {
	m.start = i
	if i == len(b) || b[i] != '"' {
		return m, i, stopUnexpected
	}
	m.keyEnd, w = scanText(b, i+1)
	if w != stopNone {
		return m, m.keyEnd, w
	}
	i = skipSpace(b, m.keyEnd)
	if i == len(b) || b[i] != ':' {
		return m, i, stopUnexpected
	}
	m.value = skipSpace(b, i+1)
	m.end, w = scanValue(b, m.value, 1)
	return m, m.end, w
}

// put stores the value of a member if its key is an envelope key.
func (e *Envelope) put(b []byte, m span) error {
	key, exact := envelopeKey(b[m.start:m.keyEnd])
	field := e.field(key)
	if field == nil {
		return nil
	}
	if !exact || *field != nil {
		k, _ := Unquote(b[m.start:m.keyEnd])
		return &KeyError{Key: k, Resembles: key, Offset: m.start}
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
