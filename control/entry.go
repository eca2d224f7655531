package control

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/indusagi/indus/control/audit"
	"github.com/indusagi/indus/control/internal/upstream"
	"github.com/indusagi/indus/control/policy"
	"github.com/indusagi/indus/gateway"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/telemetry"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
)

// entry is the record of a request for one item.
type entry struct {
	audit.Record
	active  telemetry.Active  // of the request, in its first entry
	nested  *telemetry.Active // of a call by a tool; nil: there is none
	content policy.Audit      // what the rules add to the record
	ended   atomic.Bool
	waiting string // the id of the approval that the item waits for; guarded by the mu of its exchange
	asked   string // the last approval that the client was asked for in its session
	// unlisted reports that the tool is in no list of its server: its name is that of the caller.
	unlisted bool
}

// begin begins an entry of the request.
func (e *entry) begin(x *exchange) {
	m := &x.request.Message
	e.Record = audit.Record{
		At: time.Now(), Principal: string(m.Caller), Type: recordType(m.Method),
		Outcome: audit.Allowed, View: x.request.View, Era: string(m.Era), Method: m.Method, BytesIn: int64(len(m.Params)),
	}
	if c := m.Client; c != nil {
		e.Client, e.ClientVersion, e.Session, e.Address = c.Name, c.Version, c.Session, c.Address
	}
}

// recordType returns the type of the record of a method: "mcp.tools.call".
func recordType(method string) string {
	var b strings.Builder // one allocation, in each request
	b.Grow(len("mcp.") + len(method))
	b.WriteString("mcp.")
	for i := range len(method) {
		if method[i] == '/' {
			b.WriteByte('.')
		} else {
			b.WriteByte(method[i])
		}
	}
	return b.String()
}

// entryOf returns the entry of an item.
func (x *exchange) entryOf(a *gateway.Access) *entry {
	if e, ok := a.Note.(*entry); ok {
		return e
	}
	return x.claim(a)
}

// claim makes the entry for an item that a request reaches: the entry of the request itself, or another one if the
// request reached another item before.
func (x *exchange) claim(a *gateway.Access) *entry {
	x.mu.Lock()
	e := &x.main
	switch {
	case !x.records:
		e = &entry{}
		e.begin(x)
	case x.claimed:
		e = &entry{}
		e.begin(x)
		e.Trace = x.main.Trace
		x.more = append(x.more, e)
	}
	x.claimed = true
	e.Server, e.unlisted = a.Server, a.Unlisted
	if a.Kind == gateway.KindTool {
		e.Tool = a.Name
	} else {
		e.Target = a.Name
	}
	x.mu.Unlock()
	a.Note = e
	x.control.Activity.Changed() // its name is known now
	if a.Arguments != nil && x.control.Audit != nil {
		sum := sha256.Sum256(a.Arguments)
		const kind = "sha256:"
		var text [len(kind) + 2*sha256.Size]byte
		hex.Encode(text[copy(text[:], kind):], sum[:])
		e.ArgumentDigest = string(text[:])
	}
	return e
}

// decide stores the verdict of the policy.
func (e *entry) decide(v *policy.Verdict) {
	e.Policies = v.RuleIDs
	e.content = v.Audit
	e.Reason = strings.Join(v.Problems, "; ")
}

// refuse stores the reason for which the request is not admitted.
func (e *entry) refuse(r *refusal) { e.Outcome, e.Reason = r.outcome, r.Text }

// end stores the answer of a request that was admitted.
func (e *entry) end(result json.RawMessage, err error) {
	if e.ended.Swap(true) {
		return
	}
	e.Duration, e.BytesOut = time.Since(e.At), int64(len(result))
	switch {
	case e.Outcome != audit.Allowed:
	case err == gateway.ErrOvertaken: //nolint:errorlint // it is never wrapped
		e.Reason = err.Error()
	case err != nil:
		e.Outcome, e.ErrorKind = audit.Error, upstream.ErrorKind(err)
		e.Reason = err.Error()
	case protocol.IsToolError(result):
		e.Outcome, e.ErrorKind = audit.Error, "tool"
	}
}

// measure ends the trace of a request.
func (x *exchange) measure(err error) {
	if x.control.Telemetry != nil {
		x.measureReached()
		x.main.active.End(outcomeOf(&x.main, err))
	}
}

// untrack ends a request in the activity. It returns err, or the error of a request that an operator has cancelled.
func (x *exchange) untrack(err error) error {
	if x.tracked.End() {
		return errByOperator
	}
	return err
}

// keep stores the records of a request with its answer. It returns the answer for the client.
func (x *exchange) keep(result json.RawMessage, err error) (json.RawMessage, error) {
	err = x.untrack(err)
	if err != nil {
		result = nil
	}
	x.main.end(result, err)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.request.Searches && err == nil {
		x.excuseOthers()
	}
	if x.main.content.Result {
		x.main.Result = x.control.mask(result)
	}
	for _, e := range x.more {
		e.end(nil, err) // an item that was given up
		if failed := x.control.keep(e); failed != nil {
			return nil, notRecorded(failed)
		}
	}
	if failed := x.control.keep(&x.main); failed != nil {
		return nil, notRecorded(failed)
	}
	return result, err
}

// excuseOthers makes the server that answered the main one, and turns the errors of the others into remarks: the
// request of the client did not fail. Call it with mu held.
func (x *exchange) excuseOthers() {
	for _, e := range x.more {
		if e.Server == x.request.AnsweredBy {
			x.main.Record, e.Record = e.Record, x.main.Record
			x.main.content, e.content = e.content, x.main.content
		}
	}
	for _, e := range x.more {
		if e.Outcome == audit.Error {
			e.Outcome, e.ErrorKind, e.Reason = audit.Allowed, "", "another server has it; this one: "+e.Reason
		}
	}
}

// keep stores the record of an entry.
func (c *Control) keep(e *entry) error {
	e.Reason = c.maskText(e.Reason) // telemetry has it, too
	if c.Audit == nil && c.Activity == nil {
		return nil
	}
	e.Target = c.maskText(e.Target)
	var err error
	if c.Audit != nil {
		if err = c.Audit.Append(&e.Record); err != nil {
			e.ID = "" // the record is not in the log
		}
	}
	c.Activity.Record(&e.Record, e.unlisted)
	return err
}

// notRecorded returns the answer to a request that cannot be recorded. The log has the path, and a client does not get
// it.
func notRecorded(err error) error {
	text := "requests cannot be recorded now, and are not served without a record"
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		text += ": " + at.Err.Error()
	}
	return &interop.RPCError{Code: interop.CodeInternal, Message: text}
}

// Records implements [activity.Source]: of each item that has not ended, or else of the request.
func (x *exchange) Records() (all []audit.Record) {
	x.mu.Lock()
	for _, e := range x.more {
		if !e.ended.Load() {
			all = append(all, e.now())
		}
	}
	if len(all) == 0 || !x.main.ended.Load() {
		all = slices.Insert(all, 0, x.main.now())
	}
	x.mu.Unlock()
	for i := range all {
		all[i].Target = x.control.maskText(all[i].Target)
	}
	return all
}

// now returns the record of an item that has not ended. Call it with the mu of its exchange held.
func (e *entry) now() audit.Record {
	out := audit.Record{ // the other fields are set without a lock
		At: e.At, Principal: e.Principal, Client: e.Client, ClientVersion: e.ClientVersion, Address: e.Address,
		View: e.View, Era: e.Era, Method: e.Method, Server: e.Server, Tool: e.Tool, Target: e.Target, BytesIn: e.BytesIn,
		Session: e.Session, Approval: e.waiting,
	}
	if out.Approval != "" {
		out.Outcome = audit.Deferred
	}
	return out
}

// partOperation describes a part of the request for telemetry.
func (x *exchange) partOperation() telemetry.Operation {
	o := telemetry.Operation{Method: x.request.Message.Method, View: x.request.View, Era: string(x.request.Message.Era)}
	if c := x.request.Message.Client; c != nil {
		o.Session, o.Address, o.Protocol, o.Transport = c.Session, c.Address, c.Protocol, c.Transport
	}
	return o
}

// operation describes the request for telemetry.
func (x *exchange) operation() telemetry.Operation {
	m, o := &x.request.Message, x.partOperation()
	o.RequestID = string(m.ID)
	if id, ok := wire.Unquote(m.ID); ok {
		o.RequestID = id
	}
	o.Meta, _ = wire.Lookup(m.Params, "_meta")
	switch m.Method {
	case protocol.MethodToolsCall:
		o.Tool, o.Server, o.Known = x.request.Tool.Name, x.request.Tool.Server, x.request.Known
	case protocol.MethodPromptsGet:
		o.Prompt, _ = protocol.LookupString(m.Params, "name")
	default:
		o.URI, _ = protocol.LookupString(m.Params, "uri")
	}
	return o
}

// outcomeOf describes the answer for telemetry.
func outcomeOf(e *entry, err error) telemetry.Outcome {
	o := telemetry.Outcome{BytesIn: int(e.BytesIn), BytesOut: int(e.BytesOut), Message: e.Reason}
	if rpc, ok := errors.AsType[*interop.RPCError](err); ok {
		o.Code = rpc.Code
	}
	switch {
	case e.Outcome == audit.Denied || e.Outcome == audit.Deferred:
		o.ErrorType = string(e.Outcome)
	case e.ErrorKind == "tool":
		o.ErrorType = telemetry.ToolError
	case e.Outcome == audit.Error && o.Code == 0:
		o.ErrorType = e.ErrorKind
	}
	return o
}

// measureReached notes for telemetry what the request has reached. The operation of a call has it from the beginning.
func (x *exchange) measureReached() {
	e, prompt := &x.main, ""
	if e.Server == "" || e.Method == protocol.MethodToolsCall {
		return
	}
	if e.Method == protocol.MethodPromptsGet && x.control.gateway.Lists(gateway.Item{
		Kind: gateway.KindPrompt, Server: e.Server, Name: e.Target,
	}) {
		prompt = e.Target
	}
	e.active.Reached(e.Server, prompt)
}
