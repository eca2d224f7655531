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
// What all clients of a server have is one list there: tasks/list, which only 2025-11-25 has, is refused. The states of a task
// reach a client of the extension that names the task (follow.go). Before, they reach the session that alone uses a connection.

// isTask reports a method that is about one task, or about all.
func isTask(method string) bool { return strings.HasPrefix(method, "tasks/") }

// sealTask is the id of a server's task for its client. It is good for as long as the server keeps the task.
func (g *Gateway) sealTask(ctx context.Context, of origin, caller toolbox.Principal, own string) string {
	return g.opts.Host.Keys.SealSame(sealed.Token{Kind: sealed.Task, Principal: string(caller), Data: of.seal(ctx, []byte(own))})
}

// taskOwner is the server that has the task of a request, and its id there.
func (g *Gateway) taskOwner(ctx context.Context, m interop.Message) (of origin, own string, err error) {
	id, err := oneString(m, m.Params, "taskId")
	if err != nil {
		return origin{}, "", err
	}
	if of, own, err = g.openTask(ctx, m.Caller, id); err != nil {
		return origin{}, "", invalidParams(m, "no task has this taskId: %v", err)
	}
	return of, own, nil
}

// openTask undoes sealTask.
func (g *Gateway) openTask(ctx context.Context, caller toolbox.Principal, id string) (of origin, own string, err error) {
	t, err := g.opts.Host.Keys.Open(id, sealed.Want{Kind: sealed.Task, Principal: string(caller)})
	if err != nil {
		return origin{}, "", err
	}
	return openOrigin(ctx, t.Data)
}

// upstreamTask passes on a request about a task.
func (g *Gateway) upstreamTask(ctx context.Context, of origin, m interop.Message, next interop.Peer) (json.RawMessage, error) {
	if m.Method == "tasks/list" {
		return nil, &interop.RPCError{Code: interop.CodeMethodNotFound, Message: "method not found: " + m.Method}
	}
	owner, own, err := g.taskOwner(ctx, m)
	if err == nil && owner != of {
		err = invalidParams(m, "no task of this server has this taskId")
	}
	if err != nil {
		return nil, err
	}
	id, _ := wire.Lookup(m.Params, "taskId")
	id = bytes.Clone(id)
	if m.Params, err = wire.Rewrite(m.Params, wire.Edit{Key: "taskId", Value: wire.Quote(own)}); err != nil {
		return nil, invalidParams(m, "%v", err)
	}
	result, err := next(ctx, m)
	if err != nil {
		return nil, err
	}
	if result, err = taskFor(of.server, id, ctx.Value(severalKey{}) != nil, result); err != nil {
		return nil, interop.NewFault(interop.Protocol, of.server, m.Method, err)
	}
	return result, nil
}

// taskFor is what a server says of a task for the client that has its id, which is JSON. names: its questions name the server.
func taskFor(server string, id json.RawMessage, names bool, result json.RawMessage) (_ json.RawMessage, err error) {
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
	if requests, ok := wire.Lookup(result, "inputRequests"); ok && err == nil && names {
		requests, err = nameRequests(server, requests)
		edits = append(edits, wire.Edit{Key: "inputRequests", Value: requests})
	}
	if err != nil {
		return nil, err
	}
	return wire.Rewrite(result, edits...)
}

// taskPeer is a legacy client whose server's messages name tasks by the ids that the client has, and whose answers name
// them to the server by the server's.
func (v *view) taskPeer(caller toolbox.Principal) func(next interop.Peer) interop.Peer {
	return func(next interop.Peer) interop.Peer {
		return func(ctx context.Context, m interop.Message) (json.RawMessage, error) {
			if !bytes.Contains(m.Params, []byte("task")) { // as most: see relatedTask and noteTaskStatus
				return next(ctx, m)
			}
			in := context.WithValue(ctx, viewKey{}, v)
			for _, s := range v.gateway.attached.Fleet.Servers() {
				if s.ID != m.Server {
					continue
				}
				seal := func(own string) string { return v.gateway.sealTask(in, originOf(s), caller, own) }
				m.Params = wire.EditStrings(m.Params, relatedTask(), seal)
				if m.Method == noteTaskStatus {
					m.Params = wire.EditStrings(m.Params, []string{"taskId"}, seal)
				}
			}
			answer, err := next(ctx, m)
			return wire.EditStrings(answer, relatedTask(), func(id string) string {
				if of, own, err := v.gateway.openTask(in, caller, id); err == nil && of.server == m.Server {
					return own
				}
				return id
			}), err
		}
	}
}

// noteTaskStatus is sent by servers of 2025-11-25.
const noteTaskStatus = "notifications/tasks/status"

// relatedTask is where a message of 2025-11-25 names the task that it belongs to.
func relatedTask() []string { return []string{"_meta", protocol.MetaRelatedTask, "taskId"} }

// sealCreated is the result of a call that has become a task, whose id is at a path of keys.
func (g *Gateway) sealCreated(ctx context.Context, of origin, m interop.Message, result json.RawMessage, path ...string) (json.RawMessage, error) {
	found := false
	out := wire.EditStrings(result, path, func(own string) string {
		found = true
		return g.sealTask(ctx, of, m.Caller, own)
	})
	if !found {
		return nil, interop.NewFault(interop.Protocol, of.server, m.Method, errors.New("the task has no id"))
	}
	return out, nil
}
