package host

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
)

// urlTime is how long a client may take to open the URLs and send its request again. A person may need a while.
const urlTime = 24 * time.Hour

// urlState is the data of a [sealed.Parked] of a request that waits for no call. The client sends it again after its
// URLs were opened.
var urlState = []byte("url")

// urlRequired converts a legacy server's error that URLs must be opened first (2025-11-25, client/elicitation, "URL
// Elicitation Required Error"). A modern client receives a question instead, after which it sends its request again.
// Other errors are returned unchanged.
func (es *exchanges) urlRequired(m interop.Message, err error) (json.RawMessage, error) {
	var rpc *interop.RPCError
	if !errors.As(err, &rpc) || rpc.Code != protocol.CodeURLRequired {
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
