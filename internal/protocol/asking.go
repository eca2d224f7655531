package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/indusagi/indus/internal/wire"
)

// What a client can be asked.
const (
	MethodElicit = "elicitation/create"
	MethodSample = "sampling/createMessage"
	MethodRoots  = "roots/list"
)

// MayAsk says why a client that declares capabilities is not to be asked by a request of a
// server's, with the [RPCError] that the client itself would answer; nil: it may be asked. Of a
// member that stands twice nobody can say which one the client reads, so it refuses that too
// (2025-11-25, client/elicitation "Capabilities", client/sampling "Capabilities").
func MayAsk(capabilities json.RawMessage, method string, params json.RawMessage) error {
	feature := methods[method].asks
	own, ok := wire.Lookup(capabilities, feature)
	switch {
	case feature == "":
		return &RPCError{Code: CodeMethodNotFound, Message: "a client cannot be asked " + Printable(method, 80)}
	case !ok || own[0] != '{':
		return &RPCError{Code: CodeMethodNotFound, Message: fmt.Sprintf("this client cannot be asked %s: it did not declare the capability %q", method, feature)}
	}
	var members []wire.Member
	if len(params) > 0 {
		var err error
		if members, err = wire.Members(params); err == nil {
			err = wire.Unique(members)
		}
		if err != nil {
			return &RPCError{Code: CodeInvalidParams, Message: method + ": " + err.Error()}
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

// CanBeAsked reports whether a client that declares capabilities may be asked anything at all.
func CanBeAsked(capabilities json.RawMessage) bool {
	return hasPart(capabilities, "elicitation") || hasPart(capabilities, "sampling") || hasPart(capabilities, "roots")
}

// MayRequireInput reports whether the answer to a method may be what the server needs from the
// client first (2026-07-28, basic/patterns/mrtr).
func MayRequireInput(method string) bool { return methods[method].mayRequireInput }

// OpensURLs reports whether a client that declares capabilities takes elicitations that are a URL to open.
func OpensURLs(capabilities json.RawMessage) bool {
	elicitation, _ := wire.Lookup(capabilities, "elicitation")
	return takesMode(elicitation, "url")
}

// LastingParams is the params without the answers, the state and the members of the hop, in one order of members: equal for all
// requests of a client that are one exchange (2026-07-28, basic/patterns/mrtr).
func LastingParams(params json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(params))
	d.UseNumber() // two numbers that a float cannot tell apart are two
	var all map[string]any
	if d.Decode(&all) != nil {
		return params // no object
	}
	for _, key := range [...]string{"_meta", "inputResponses", "requestState"} {
		delete(all, key)
	}
	rest, _ := json.Marshal(all) // what was decoded can be encoded
	return rest
}

// takesMode reports whether an elicitation capability has a mode. An empty one is for forms.
func takesMode(elicitation json.RawMessage, mode string) bool {
	switch mode {
	case "form":
		return hasPart(elicitation, "form") || !hasPart(elicitation, "url")
	case "url":
		return hasPart(elicitation, "url")
	}
	return false
}

// hasPart reports whether a capability has a part, which is an object.
func hasPart(capability json.RawMessage, part string) bool {
	v, ok := wire.Lookup(capability, part)
	return ok && v[0] == '{'
}

func undeclared(method, part string) error {
	return &RPCError{Code: CodeInvalidParams, Message: fmt.Sprintf("%s: the client did not declare %s", method, part)}
}
