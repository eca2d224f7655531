package host

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
)

// withoutElicitationID returns the params of a question for a modern client. Modern clients know no notification that
// names the id.
func withoutElicitationID(m interop.Message) json.RawMessage {
	if m.Method != protocol.MethodElicit {
		return m.Params
	}
	return wire.Without(m.Params, "elicitationId")
}

// questionKey returns the key of the nth question of a request.
func questionKey(method string, n int) string {
	kind, _, _ := strings.Cut(method, "/")
	return kind + "-" + strconv.Itoa(n)
}

// inputRequest is one of the questions of an input_required.
type inputRequest struct {
	key, method string
	params      json.RawMessage
}

// inputRequired returns a result that asks questions (2026-07-28, basic/patterns/mrtr).
func inputRequired(questions []inputRequest, state string) json.RawMessage {
	var requests wire.Object
	for _, a := range questions {
		params := a.params
		if len(params) == 0 { // clients of go-sdk read no request without params
			params = json.RawMessage(`{}`)
		}
		requests = requests.Raw(a.key, wire.Object{}.Text("method", a.method).Raw("params", params).JSON())
	}
	return wire.Object{}.Text("resultType", "input_required").Raw("inputRequests", requests.JSON()).
		Text("requestState", state).JSON()
}

// inputResponses returns the answers of a client, by key. They are valid JSON values.
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

func notObjectError(key string) error {
	text := "inputResponses." + key + " must be an object: the result of the question"
	return &interop.RPCError{Code: interop.CodeInvalidParams, Message: text}
}

// requestDigest returns the digest of the parts that stay the same in all requests of one exchange.
func requestDigest(m interop.Message) [32]byte {
	return sealed.Digest([]byte(m.Method), protocol.LastingParams(m.Params))
}

// tokenOf returns the progress token of a request, or nil if it has none.
func tokenOf(params json.RawMessage) json.RawMessage { return progressToken(metaOf(params)) }

// parkedPrefix distinguishes the host's states from states of servers.
const parkedPrefix = "indus."

// sealParked returns the state of an input_required of this host.
func (es *exchanges) sealParked(m interop.Message, digest [32]byte, lifetime time.Duration, data []byte) string {
	return parkedPrefix + es.keys.Seal(sealed.Token{
		Kind: sealed.Parked, Principal: string(m.Caller), Digest: digest,
		Expires: time.Now().Add(lifetime), Data: data,
	})
}

// badState returns the error for a state that is not valid for the request.
func badState(reason error) error {
	return &interop.RPCError{Code: interop.CodeInvalidParams, Message: "requestState: " + reason.Error()}
}
