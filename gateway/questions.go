package gateway

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
)

// What servers ask their clients, and what they say of it.
const (
	askElicit    = "elicitation/create"
	askSampling  = "sampling/createMessage"
	askRoots     = "roots/list"
	noteElicited = "notifications/elicitation/complete"
	noteRoots    = "notifications/roots/list_changed"
)

// metaServer is the member of _meta that says which server asks.
const metaServer = "com.indusagi/server"

// opensURLs reports whether a client takes elicitations that are a URL to open.
func opensURLs(c *interop.Client) bool {
	elicitation, _ := wire.Lookup(c.Capabilities, "elicitation")
	_, ok := wire.Lookup(elicitation, "url")
	return ok
}

// withoutElicitationID is the params of a question for a modern client: the id is gone with the
// notification that named it.
func withoutElicitationID(m interop.Message) json.RawMessage {
	if m.Method != askElicit {
		return m.Params
	}
	params, err := wire.Rewrite(m.Params, wire.Edit{Key: "elicitationId"})
	if err != nil {
		return m.Params
	}
	return params
}

// keyOf is the key of the nth question of a request.
func keyOf(method string, n int) string {
	kind, _, _ := strings.Cut(method, "/")
	return kind + "-" + strconv.Itoa(n)
}

// inputRequest is one of the questions of an input_required.
type inputRequest struct {
	key, method string
	params      json.RawMessage
}

// inputRequired is a result that asks (2026-07-28, basic/patterns/mrtr).
func inputRequired(asks []inputRequest, state string) json.RawMessage {
	b := []byte(`{"resultType":"input_required","inputRequests":{`)
	for i, a := range asks {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(wire.AppendQuote(b, a.key), `:{"method":`...), wire.Quote(a.method)...)
		if len(a.params) > 0 {
			b = append(append(b, `,"params":`...), a.params...)
		}
		b = append(b, '}')
	}
	b = append(b, `},"requestState":`...)
	return append(wire.AppendQuote(b, state), '}')
}

// inputResponses is what a client answers, by key: valid JSON values.
func inputResponses(params json.RawMessage) (map[string]json.RawMessage, error) {
	raw, ok := wire.Lookup(params, "inputResponses")
	if !ok {
		return nil, nil
	}
	members, err := wire.Members(raw)
	if err != nil {
		return nil, &interop.RPCError{Code: interop.CodeInvalidParams, Message: "inputResponses must be an object"}
	}
	answers := make(map[string]json.RawMessage, len(members))
	for _, m := range members {
		answers[m.Key] = m.Value
	}
	return answers, nil
}

func notAnObject(key string) error {
	return &interop.RPCError{Code: interop.CodeInvalidParams, Message: "inputResponses." + key + " must be an object: the result of what was asked"}
}

// requestDigest is that of what must stay in the requests that one exchange takes: the
// method, and of the params all but the answers, the state and what belongs to the hop.
func requestDigest(m interop.Message) [32]byte {
	d := json.NewDecoder(bytes.NewReader(m.Params))
	d.UseNumber() // two numbers that a float cannot tell apart are two
	var params map[string]any
	if d.Decode(&params) != nil {
		return sealed.Digest([]byte(m.Method), m.Params) // no object
	}
	for _, key := range [...]string{"_meta", "inputResponses", "requestState"} {
		delete(params, key)
	}
	rest, _ := json.Marshal(params) // in one order, for a client may write the members in another; what was decoded can be encoded
	return sealed.Digest([]byte(m.Method), rest)
}

// progressToken is that of a request; nil: it has none.
func progressToken(params json.RawMessage) json.RawMessage {
	meta, _ := wire.Lookup(params, "_meta")
	token, _ := wire.Lookup(meta, "progressToken")
	return token
}
