package parked

import (
	"bytes"
	"encoding/json"
	"errors"
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

// Prefix distinguishes the host's states from states of servers.
const Prefix = "indus."

// sealParked returns the state of an input_required of this host.
func (es *Exchanges) sealParked(m interop.Message, digest [32]byte, lifetime time.Duration, data []byte) string {
	return Prefix + es.keys.Seal(sealed.Token{
		Kind: sealed.Parked, Principal: string(m.Caller), Digest: digest,
		Expires: time.Now().Add(lifetime), Data: data,
	})
}

// urlTime is how long a client may take to open the URLs and send its request again. A person may need a while.
const urlTime = 24 * time.Hour

// urlState is the data of a [sealed.Parked] of a request that waits for no call. The client sends it again after its
// URLs were opened.
var urlState = []byte("url")

// WaitsForURL reports whether the data of a state belongs to a request that waits for no call.
func WaitsForURL(data []byte) bool { return bytes.Equal(data, urlState) }

// urlRequired converts a legacy server's error that URLs must be opened first (2025-11-25, client/elicitation, "URL
// Elicitation Required Error"). A modern client receives a question instead, after which it sends its request again.
// Other errors are returned unchanged.
func (es *Exchanges) urlRequired(m interop.Message, err error) (json.RawMessage, error) {
	rpc, ok := errors.AsType[*interop.RPCError](err)
	if !ok || rpc.Code != protocol.CodeURLRequired {
		return nil, err
	}
	list, _ := wire.Lookup(rpc.Data, "elicitations")
	elicitations, _ := wire.Elements(list)
	if len(elicitations) > maxParkedQuestions {
		elicitations = nil
	}
	var questions []inputRequest
	var urls []string
	for i, e := range elicitations {
		q := interop.Message{Method: protocol.MethodElicit, Params: e}
		url, ok := protocol.LookupString(e, "url")
		if mode, _ := protocol.LookupString(e, "mode"); mode != "url" || !ok {
			continue
		}
		urls = append(urls, protocol.Printable(url, 2000))
		questions = append(questions, inputRequest{questionKey(q.Method, i+1), q.Method, withoutElicitationID(q)})
	}
	if len(questions) == 0 || !protocol.OpensURLs(m.Client.Capabilities) {
		text := rpc.Message
		if len(urls) > 0 {
			text += "; open this in a browser, and then send the request again: " + strings.Join(urls, " ")
		}
		return nil, &interop.RPCError{Code: interop.CodeInternal, Message: text, Data: rpc.Data}
	}
	return inputRequired(questions, es.sealParked(m, requestDigest(m), urlTime, urlState)), nil
}

// urlsOpened returns the original params of a request that was sent again after its URLs were opened.
func urlsOpened(params json.RawMessage) (json.RawMessage, error) {
	answers, err := inputResponses(params)
	if err != nil {
		return nil, err
	}
	for key, a := range answers {
		if a[0] != '{' {
			return nil, notObjectError(key)
		}
		if action, _ := protocol.LookupString(a, "action"); action != "accept" {
			text := "the URL that the server asks for was not opened: " + protocol.Printable(action, 40)
			return nil, &interop.RPCError{Code: interop.CodeInternal, Message: text}
		}
	}
	return wire.Rewrite(params, wire.Edit{Key: "inputResponses"}, wire.Edit{Key: "requestState"})
}
