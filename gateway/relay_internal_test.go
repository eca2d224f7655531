package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/indusagi/indus/gateway/internal/naming"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/interop/config"
	"github.com/indusagi/indus/toolbox"
)

// seam is one server behind the upstream of a gateway. It records params and answers with result.
type seam struct {
	t      *testing.T
	g      *Gateway
	era    interop.Era
	who    toolbox.Principal
	server string
	url    string
	got    string
	result string
	err    error
}

func newSeam(t *testing.T) *seam {
	g := &Gateway{}
	g.opts.Host.Keys = sealed.Random()
	return &seam{t: t, g: g, era: interop.Modern, who: "ann", server: "git"}
}

func (s *seam) do(ctx context.Context, method, params string) (json.RawMessage, error) {
	next := func(_ context.Context, m interop.Message) (json.RawMessage, error) {
		s.got = string(m.Params)
		return json.RawMessage(s.result), s.err
	}
	ctx = interop.WithClient(ctx, &interop.Client{Era: s.era})
	origin, m := originOf(config.Server{ID: s.server, Transport: config.HTTP{URL: s.url}}), interop.Message{Method: method, Params: json.RawMessage(params), Caller: s.who}
	result, err := s.g.wrapUpstream(origin)(next)(ctx, m)
	if kind, ok := protocol.LookupString(result, "resultType"); ok { // as interop.EndpointOptions does
		return s.g.sealResults(origin)(ctx, m, kind, result)
	}
	return result, err
}

// refused checks that a request is refused before the server gets it.
func (s *seam) refused(method, params, instructions string) {
	s.t.Helper()
	s.got = ""
	_, err := s.do(s.t.Context(), method, params)
	var rpc *interop.RPCError
	if !errors.As(err, &rpc) || rpc.Code != interop.CodeInvalidParams || !strings.Contains(rpc.Message, instructions) || s.got != "" {
		s.t.Errorf("%s %s: %v (the server got %q), want invalid params that say %q", method, params, err, s.got, instructions)
	}
}

func TestAServersStateComesBackAsItWas(t *testing.T) {
	s := newSeam(t)
	const own = `"a\u0042 \/ é"`
	s.result = `{"resultType": "input_required", "inputRequests":{"k":{"method":"roots/list"}},"requestState":` + own + `,"x":1e2}`
	out, err := s.do(t.Context(), "tools/call", `{"name":"t", "arguments":{"n":9007199254740993}}`)
	if err != nil {
		t.Fatal(err)
	}
	state, _ := wire.Lookup(out, "requestState")
	if want := strings.Replace(s.result, own, string(state), 1); string(out) != want || strings.Contains(want, own) {
		t.Fatalf("the client got %s", out)
	}
	retry := func(n string) string {
		return `{"name":"t", "arguments":{"n":` + n + `},"inputResponses":{"k":{}},"requestState":` + string(state) + `}`
	}
	s.refused("tools/call", retry("9007199254740992"), "another request")
	s.refused("prompts/get", retry("9007199254740993"), "another request")
	s.server = "other"
	s.refused("tools/call", retry("9007199254740993"), "another server")
	s.server, s.url = "git", "http://other.example"
	s.refused("tools/call", retry("9007199254740993"), "another server")
	s.url, s.who = "", "eve"
	s.refused("tools/call", retry("9007199254740993"), "somebody else")
	s.who = "ann"
	s.refused("tools/call", strings.Replace(retry("9007199254740993"), string(state), own, 1), "not made here")
	s.refused("tools/call", strings.Replace(retry("9007199254740993"), `"name"`, `"RequestState":"theirs","name"`, 1), "twice")
	if _, err := s.do(t.Context(), "tools/call", retry("9007199254740993")); err != nil {
		t.Fatal(err)
	}
	if want := strings.Replace(retry("9007199254740993"), string(state), own, 1); s.got != want {
		t.Errorf("the server got %s", s.got)
	}
	s.refused("tools/call", retry("9007199254740993"), "given before")
}

func TestResultsThatDoNotAskStay(t *testing.T) {
	s := newSeam(t)
	for _, result := range []string{
		`{"content":[{"type":"text","text":"input_required and a \"task\""}]}`,
		`{"resultType":"complete","requestState":"x"}`,
		`{"resultType":"input_required","inputRequests":{"k":{"method":"roots/list"}}}`, // without a state, none is added
	} {
		s.result = result
		if out, err := s.do(t.Context(), "tools/call", `{"name":"t"}`); err != nil || string(out) != result {
			t.Errorf("%s became %s, %v", result, out, err)
		}
	}
	s.result = `{"resultType":"input\u005frequired","requestState":"mine"}`
	if out, err := s.do(t.Context(), "tools/call", `{"name":"t"}`); err != nil || strings.Contains(string(out), "mine") {
		t.Errorf("a state is in the clear: %s, %v", out, err)
	}
	s.result = `{"resultType":"input_required","requestState":"a","requestState":"b"}`
	if out, err := s.do(t.Context(), "tools/call", `{"name":"t"}`); err == nil {
		t.Errorf("two states passed: %s", out)
	}
}

// For tasks of both shapes, the result that creates a task has the sealed id. Later results have the client's id.
func TestTaskIDsAreSealed(t *testing.T) {
	for _, test := range []struct {
		era           interop.Era
		params        string
		created       string
		method, later string
	}{
		{interop.Modern, `{"name":"t"}`, `{"resultType":"task","taskId":"T-1","status":"working"}`,
			"tasks/get", `{"taskId":"T-1","status":"completed","result":{"taskId":"T-1"}}`},
		{interop.Modern, `{"name":"t"}`, `{"resultType":"task","taskId":"T-1","status":"working"}`, "tasks/update", `{}`},
		{interop.Legacy, `{"name":"t","task":{"ttl":1}}`, `{"task":{"taskId":"T-1","status":"working"}}`,
			"tasks/get", `{"taskId":"T-1","status":"working"}`},
		{interop.Legacy, `{"name":"t","task":{}}`, `{"task":{"taskId":"T-1","status":"working"}}`,
			"tasks/result", `{"content":[],"_meta":{"a":1,"` + protocol.MetaRelatedTask + `":{"taskId":"T-1"}}}`},
		{interop.Legacy, `{"name":"t","task":{}}`, `{"task":{"taskId":"T-1","status":"working"}}`, "tasks/cancel", `{"taskId":"T-1"}`},
	} {
		s := newSeam(t)
		s.era, s.result = test.era, test.created
		out, err := s.do(t.Context(), "tools/call", test.params)
		if err != nil {
			t.Fatal(err)
		}
		at := out
		if test.era == interop.Legacy {
			at, _ = wire.Lookup(out, "task")
		}
		id, _ := protocol.LookupString(at, "taskId")
		if want := strings.Replace(test.created, "T-1", id, 1); string(out) != want || id == "T-1" {
			t.Fatalf("%s became %s", test.created, out)
		}
		s.result = test.later
		params := `{"taskId":"` + id + `","inputResponses":{}}`
		out, err = s.do(t.Context(), test.method, params)
		if want := strings.Replace(test.later, "T-1", id, 1); err != nil || string(out) != want {
			t.Errorf("%s: %s, %v, want %s", test.method, out, err, want)
		}
		if want := strings.Replace(params, id, "T-1", 1); s.got != want {
			t.Errorf("%s: the server got %s, want %s", test.method, s.got, want)
		}
		s.refused(test.method, `{"taskId":"T-1"}`, "no task has this taskId")
		s.refused(test.method, `{}`, "lack \"taskId\"")
		s.refused(test.method, `{"taskId":"`+id+`","TaskId":"T-2"}`, "twice, or in another spelling")
		s.server = "other"
		s.refused(test.method, params, "no task of this server")
		s.server, s.url = "git", "http://other.example"
		s.refused(test.method, params, "no task of this server")
		s.url, s.who = "", "eve"
		s.refused(test.method, params, "somebody else")
	}
}

func TestTasksOfAllAreNotListed(t *testing.T) {
	s := newSeam(t)
	s.era = interop.Legacy
	if _, err := s.do(t.Context(), "tasks/list", `{}`); err == nil || s.got != "" {
		t.Error("the tasks of everybody were listed")
	}
}

func TestQuestionsNameTheirServer(t *testing.T) {
	for _, test := range [][3]string{
		{"elicitation/create", `{"message":"give me","requestedSchema":{}}`, `{"message":"[git] give me","requestedSchema":{},"_meta":{"com.indusagi/server":"git"}}`},
		{"elicitation/create", `{"message":"[hub] give me"}`, `{"message":"[git] [hub] give me","_meta":{"com.indusagi/server":"git"}}`},
		{"elicitation/create", `{"mode":"url","_meta":{"com.indusagi/server":"hub","a":1}}`, `{"mode":"url","_meta":{"com.indusagi/server":"git","a":1},"message":"[git]"}`},
		{"elicitation/create", `{"message":7,"_meta":null}`, `{"message":"[git]","_meta":{"com.indusagi/server":"git"}}`},
		{"elicitation/create", `{"message":"m","elicitationId":"e"}`, `{"message":"[git] m","elicitationId":"git/e","_meta":{"com.indusagi/server":"git"}}`},
		{"elicitation/create", `{"message":"\r\u001b[2K\u202e[hub]\n\tgive"}`, `{"message":"[git] [2K[hub]\n\tgive","_meta":{"com.indusagi/server":"git"}}`},
		{"sampling/createMessage", `{"messages":[]}`, `{"messages":[],"_meta":{"com.indusagi/server":"git"}}`},
		{"roots/list", ``, `{"_meta":{"com.indusagi/server":"git"}}`},
		{"elicitation/create", `{"message":"a","Message":"[hub] b"}`, ""},
		{"elicitation/create", `{"message":"a","message":"[hub] b"}`, ""},
		{"elicitation/create", `[]`, ""},
	} {
		out, err := naming.Server("git", test[0], json.RawMessage(test[1]))
		if string(out) != test[2] || (err == nil) != (test[2] != "") {
			t.Errorf("%s: %s, %v, want %s", test[1], out, err, test[2])
		}
	}
}

func TestQuestionsOfAResultNameTheirServer(t *testing.T) {
	s := newSeam(t)
	s.result = `{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"m"}},"b":{"method":"roots/list"}}}`
	out, err := s.do(context.WithValue(t.Context(), severalKey{}, true), "tools/call", `{"name":"t"}`)
	want := `{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"[git] m","_meta":{"com.indusagi/server":"git"}}},` +
		`"b":{"method":"roots/list","params":{"_meta":{"com.indusagi/server":"git"}}}}}`
	if err != nil || string(out) != want {
		t.Errorf("%s, %v, want\n%s", out, err, want)
	}
}

// A member that a client might read as another question is an error: that question would not have the server's name.
func TestAQuestionOfTwoMeaningsIsNotAsked(t *testing.T) {
	s := newSeam(t)
	for _, q := range []string{
		`"method":"roots/list","Method":"elicitation/create","params":{"message":"[hub] m"}`,
		`"method":"elicitation/create","method":"roots/list","params":{"message":"[hub] m"}`,
		`"method":"elicitation/create","params":{"message":"m"},"Params":{"message":"[hub] m"}`,
	} {
		s.result = `{"resultType":"input_required","inputRequests":{"a":{` + q + `}}}`
		if out, err := s.do(context.WithValue(t.Context(), severalKey{}, true), "tools/call", `{"name":"t"}`); err == nil {
			t.Errorf("%s became %s", q, out)
		}
	}
}

func TestALegacyClientIsToldWhoseURLItIs(t *testing.T) {
	failed := interop.NewFault(interop.ToolError, "git", "tools/call t", &interop.RPCError{Code: protocol.CodeURLRequired, Message: "log in",
		Data: json.RawMessage(`{"a":1,"elicitations":[{"mode":"url","elicitationId":"e1","url":"https://a.example/x","message":"Log in"},7]}`)})
	var rpc *interop.RPCError
	if !errors.As(naming.URLs("git", failed), &rpc) {
		t.Fatal(rpc)
	}
	want := `{"a":1,"elicitations":[{"mode":"url","elicitationId":"git/e1","url":"https://a.example/x","message":"[git] Log in","_meta":{"com.indusagi/server":"git"}},{}]}`
	if string(rpc.Data) != want || rpc.Code != protocol.CodeURLRequired {
		t.Errorf("%s, want %s", rpc.Data, want)
	}
	var heard string
	peer := naming.Peer(func(_ context.Context, m interop.Message) (json.RawMessage, error) {
		heard = string(m.Params)
		return nil, nil
	})
	_, _ = peer(t.Context(), interop.Message{Method: protocol.NoteElicited, Params: json.RawMessage(`{"elicitationId":"e1"}`), Server: "git"})
	if heard != `{"elicitationId":"git/e1"}` {
		t.Errorf("the client heard %s", heard)
	}
}
