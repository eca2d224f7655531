package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/indusagi/indus/internal/wire"
)

// The requests that a server may send to a client.
const (
	MethodElicit = "elicitation/create"
	MethodSample = "sampling/createMessage"
	MethodRoots  = "roots/list"
)

// CheckClientRequest returns an error if a request of a server may not be sent to a client with these capabilities.
// The error is the [RPCError] that the client itself would return. If the request may be sent, it is nil. A request
// with a repeated member is refused too, because it is unknown which of the two the client reads (2025-11-25,
// client/elicitation "Capabilities", client/sampling "Capabilities").
func CheckClientRequest(capabilities json.RawMessage, method string, params json.RawMessage) error {
	feature := methods[method].capability
	own, ok := wire.Lookup(capabilities, feature)
	switch {
	case feature == "":
		return &RPCError{Code: CodeMethodNotFound, Message: "a client cannot be asked " + Printable(method, 80)}
	case !ok || own[0] != '{':
		return &RPCError{Code: CodeMethodNotFound,
			Message: fmt.Sprintf("this client cannot be asked %s: it did not declare the capability %q", method, feature)}
	}
	var members []wire.Member
	if len(params) > 0 {
		var err error
		members, err = wire.Members(params)
		if err == nil {
			err = wire.Unique(members)
		}
		if err != nil {
			return InvalidParams(method, "%v", err)
		}
	}
	mode := "form"
	for i := range members {
		switch m := &members[i]; {
		case feature == "elicitation" && m.Key == "mode":
			mode, _ = wire.Unquote(m.Value)
		case feature == "sampling" && (m.Key == "tools" || m.Key == "toolChoice") && !hasPart(own, "tools"):
			return undeclared(method, "sampling.tools")
		}
	}
	if feature == "elicitation" && !takesMode(own, mode) {
		return undeclared(method, "elicitation."+Printable(mode, 40))
	}
	return nil
}

// AcceptsRequests reports whether a client with these capabilities accepts any requests of servers.
func AcceptsRequests(capabilities json.RawMessage) bool {
	return hasPart(capabilities, "elicitation") || hasPart(capabilities, "sampling") || hasPart(capabilities, "roots")
}

// MayRequireInput reports whether the server may answer a method with a request for input from the client (2026-07-28,
// basic/patterns/mrtr).
func MayRequireInput(method string) bool { return methods[method].mayRequireInput }

// OpensURLs reports whether a client with these capabilities accepts elicitations that ask a person to open a URL.
func OpensURLs(capabilities json.RawMessage) bool {
	elicitation, _ := wire.Lookup(capabilities, "elicitation")
	return takesMode(elicitation, "url")
}

// LastingParams returns the params without the answers, the state and the members of the hop, with members in a fixed
// order. It is equal for all requests of one exchange of a client (2026-07-28, basic/patterns/mrtr).
func LastingParams(params json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(params))
	d.UseNumber() // numbers that differ must stay different, even if a float cannot represent the difference
	var all map[string]any
	if d.Decode(&all) != nil {
		return params // not an object
	}
	for _, key := range [...]string{"_meta", "inputResponses", "requestState"} {
		delete(all, key)
	}
	rest, _ := json.Marshal(all) // decoded JSON can always be encoded
	return rest
}

// takesMode reports whether an elicitation capability has a mode. An empty capability means the mode form.
func takesMode(elicitation json.RawMessage, mode string) bool {
	switch mode {
	case "form":
		return hasPart(elicitation, "form") || !hasPart(elicitation, "url")
	case "url":
		return hasPart(elicitation, "url")
	}
	return false
}

// hasPart reports whether a capability has an object as this part.
func hasPart(capability json.RawMessage, part string) bool {
	v, ok := wire.Lookup(capability, part)
	return ok && v[0] == '{'
}

func undeclared(method, part string) error {
	return InvalidParams(method, "the client did not declare %s", part)
}
