package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// A task is of two shapes: that of the extension (SEP-2663), which a result of type "task" brings, and that
// of 2025-11-25 (SEP-1686), which a call with a member "task" asks for. Of both the client gets the id sealed:
// it says which server has the task, and nobody else can name it.
//
// What all clients of a server have is one list there, and so are its notifications: tasks/list is
// refused, and clients poll.

// isTask reports a method that is about one task, or about all.
func isTask(method string) bool { return strings.HasPrefix(method, "tasks/") }

// sealTask is the id of a server's task for its client. It is good for as long as the server keeps the task.
func (g *Gateway) sealTask(of origin, caller toolbox.Principal, own string) string {
	return g.exchanges.keys.Seal(sealed.Token{Kind: sealed.Task, Principal: string(caller), Data: of.seal([]byte(own))})
}

// taskOwner is the server that has the task of a request, and its id there.
func (g *Gateway) taskOwner(m interop.Message) (of origin, own string, err error) {
	raw, err := protocol.OneMember(m.Params, "taskId")
	id, ok := wire.Unquote(raw)
	if err != nil || !ok {
		return origin{}, "", &interop.RPCError{Code: interop.CodeInvalidParams, Message: m.Method + ": no taskId, or not one"}
	}
	t, err := g.exchanges.keys.Open(id, sealed.Want{Kind: sealed.Task, Principal: string(m.Caller)})
	if err != nil {
		return origin{}, "", &interop.RPCError{Code: interop.CodeInvalidParams, Message: m.Method + ": no task has this taskId: " + err.Error()}
	}
	of, own = openOrigin(t.Data)
	return of, own, nil
}

// upstreamTask passes on a request about a task.
func (g *Gateway) upstreamTask(ctx context.Context, of origin, m interop.Message, next interop.Peer) (json.RawMessage, error) {
	if m.Method == "tasks/list" {
		return nil, &interop.RPCError{Code: interop.CodeMethodNotFound, Message: "method not found: " + m.Method}
	}
	owner, own, err := g.taskOwner(m)
	if err == nil && owner != of {
		err = &interop.RPCError{Code: interop.CodeInvalidParams, Message: m.Method + ": no task of this server has this taskId"}
	}
	if err != nil {
		return nil, err
	}
	id, _ := wire.Lookup(m.Params, "taskId")
	id = bytes.Clone(id)
	if m.Params, err = wire.Rewrite(m.Params, wire.Edit{Key: "taskId", Value: wire.Quote(own)}); err != nil {
		return nil, &interop.RPCError{Code: interop.CodeInvalidParams, Message: m.Method + ": " + err.Error()}
	}
	result, err := next(ctx, m)
	if err != nil {
		return nil, err
	}
	var edits []wire.Edit
	if _, ok := wire.Lookup(result, "taskId"); ok {
		edits = append(edits, wire.Edit{Key: "taskId", Value: id})
	}
	if meta, ok := wire.Lookup(result, "_meta"); ok {
		if _, ok := wire.Lookup(meta, protocol.MetaRelatedTask); ok {
			meta, err = wire.Rewrite(meta, wire.Edit{Key: protocol.MetaRelatedTask, Value: append(append([]byte(`{"taskId":`), id...), '}')})
			edits = append(edits, wire.Edit{Key: "_meta", Value: meta})
		}
	}
	if requests, ok := wire.Lookup(result, "inputRequests"); ok && err == nil && ctx.Value(severalKey{}) != nil {
		requests, err = nameRequests(of.server, requests)
		edits = append(edits, wire.Edit{Key: "inputRequests", Value: requests})
	}
	if err == nil {
		result, err = wire.Rewrite(result, edits...)
	}
	if err != nil {
		return nil, interop.NewFault(interop.Protocol, of.server, m.Method, err)
	}
	return result, nil
}

// sealCreated is the result of a call that has become a task.
func (g *Gateway) sealCreated(of origin, m interop.Message, result json.RawMessage, path ...string) (json.RawMessage, error) {
	out, err := g.sealAt(of, m.Caller, result, path)
	if err != nil {
		return nil, interop.NewFault(interop.Protocol, of.server, m.Method, err)
	}
	return out, nil
}

// sealAt seals the id at a path of keys.
func (g *Gateway) sealAt(of origin, caller toolbox.Principal, obj json.RawMessage, path []string) (json.RawMessage, error) {
	value, ok := wire.Lookup(obj, path[0])
	if !ok {
		return nil, errors.New("the task has no " + path[0])
	}
	if len(path) > 1 {
		inner, err := g.sealAt(of, caller, value, path[1:])
		if err != nil {
			return nil, err
		}
		return wire.Rewrite(obj, wire.Edit{Key: path[0], Value: inner})
	}
	own, ok := wire.Unquote(value)
	if !ok {
		return nil, errors.New("the task's " + path[0] + " is no string")
	}
	return wire.Rewrite(obj, wire.Edit{Key: path[0], Value: wire.Quote(g.sealTask(of, caller, own))})
}
