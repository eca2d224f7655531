package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/indusagi/indus/gateway/internal/methods"
	"github.com/indusagi/indus/gateway/internal/naming"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/sealed"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// A task has one of two shapes. In the extension (SEP-2663), a result of type "task" creates it. In 2025-11-25
// (SEP-1686), a call with a member "task" asks for it. The client gets a sealed id, which contains the server. No other
// client can use it.
//
// A server has one list of the tasks of all its clients, so tasks/list, which only 2025-11-25 has, is refused. The
// states of a task reach a client of the extension that names the task (follow.go), or a legacy session with its own
// connection.

// sealTask seals the id of a server's task for its client. The sealed id does not expire.
func (g *Gateway) sealTask(ctx context.Context, origin serverOrigin, caller toolbox.Principal, own ownTask) string {
	data := own.id
	if own.tool != "" {
		data = taskMark + own.tool + "\x00" + own.id
	}
	return g.opts.Host.Keys.SealSame(sealed.Token{
		Kind: sealed.Task, Principal: string(caller), Data: origin.seal(ctx, []byte(data)),
	})
}

// taskMark begins the data of a sealed task that has the name of its tool.
const taskMark = "\x01"

// taskOwner returns the server that has the task of a request, and the server's own id of the task.
func (g *Gateway) taskOwner(ctx context.Context, m interop.Message) (origin serverOrigin, own ownTask, err error) {
	id, err := methods.String(m, m.Params, "taskId")
	if err != nil {
		return serverOrigin{}, ownTask{}, err
	}
	origin, own, err = g.openTask(ctx, m.Caller, id)
	if err != nil {
		return serverOrigin{}, ownTask{}, protocol.InvalidParams(m.Method, "no task has this taskId: %v", err)
	}
	return origin, own, nil
}

// openTask undoes sealTask.
func (g *Gateway) openTask(
	ctx context.Context, caller toolbox.Principal, id string,
) (origin serverOrigin, own ownTask, err error) {
	t, err := g.opts.Host.Keys.Open(id, sealed.Want{Kind: sealed.Task, Principal: string(caller)})
	if err != nil {
		return serverOrigin{}, ownTask{}, err
	}
	origin, data, err := openOrigin(ctx, t.Data)
	own.id = data
	if marked, ok := strings.CutPrefix(data, taskMark); ok {
		own.tool, own.id, _ = strings.Cut(marked, "\x00")
	}
	return origin, own, err
}

// forwardTask passes a request about a task to its server.
func (g *Gateway) forwardTask(
	ctx context.Context, origin serverOrigin, m interop.Message, next interop.Peer,
) (json.RawMessage, error) {
	if m.Method == "tasks/list" {
		return nil, protocol.MethodNotFound(m.Method)
	}
	owner, own, err := g.taskOwner(ctx, m)
	if err == nil && owner != origin {
		err = protocol.InvalidParams(m.Method, "no task of this server has this taskId")
	}
	if err != nil {
		return nil, err
	}
	id, _ := wire.Lookup(m.Params, "taskId")
	id = bytes.Clone(id)
	m.Params, err = wire.Rewrite(m.Params, wire.Edit{Key: "taskId", Value: wire.Quote(own.id)})
	if err != nil {
		return nil, protocol.InvalidParams(m.Method, "%v", err)
	}
	result, err := next(ctx, m)
	if err != nil {
		return nil, err
	}
	result, err = rewriteTask(origin.server, id, ctx.Value(severalKey{}) != nil, result)
	if err != nil {
		return nil, interop.NewFault(interop.Protocol, origin.server, m.Method, err)
	}
	return result, nil
}

// rewriteTask rewrites a server's result about a task for the client with this id, as JSON. If nameServers is true,
// questions in it name the server.
func rewriteTask(
	server string, id json.RawMessage, nameServers bool, result json.RawMessage,
) (_ json.RawMessage, err error) {
	var edits []wire.Edit
	if _, ok := wire.Lookup(result, "taskId"); ok {
		edits = append(edits, wire.Edit{Key: "taskId", Value: id})
	}
	if meta, ok := wire.Lookup(result, "_meta"); ok {
		if _, ok := wire.Lookup(meta, protocol.MetaRelatedTask); ok {
			related := wire.Object{}.Raw("taskId", id).JSON()
			meta, err = wire.Rewrite(meta, wire.Edit{Key: protocol.MetaRelatedTask, Value: related})
			edits = append(edits, wire.Edit{Key: "_meta", Value: meta})
		}
	}
	if requests, ok := wire.Lookup(result, "inputRequests"); ok && err == nil && nameServers {
		requests, err = naming.Requests(server, requests)
		edits = append(edits, wire.Edit{Key: "inputRequests", Value: requests})
	}
	if err != nil {
		return nil, err
	}
	return wire.Rewrite(result, edits...)
}

// taskPeer wraps the peer of a legacy client. Messages get the client's ids of tasks, and answers the server's ids.
func (v *view) taskPeer(caller toolbox.Principal) func(next interop.Peer) interop.Peer {
	return func(next interop.Peer) interop.Peer {
		return func(ctx context.Context, m interop.Message) (json.RawMessage, error) {
			if !bytes.Contains(m.Params, []byte("task")) { // most messages; see relatedTask and noteTaskStatus
				return next(ctx, m)
			}
			in := context.WithValue(ctx, exchangeKey{}, &exchange{view: v})
			if s, ok := v.gateway.attached.Fleet.Server(m.Server); ok {
				seal := func(own string) string { return v.gateway.sealTask(in, originOf(s), caller, ownTask{id: own}) }
				m.Params = wire.EditStrings(m.Params, relatedTask(), seal)
				if m.Method == noteTaskStatus {
					m.Params = wire.EditStrings(m.Params, []string{"taskId"}, seal)
				}
			}
			answer, err := next(ctx, m)
			return wire.EditStrings(answer, relatedTask(), func(id string) string {
				if origin, own, err := v.gateway.openTask(in, caller, id); err == nil && origin.server == m.Server {
					return own.id
				}
				return id
			}), err
		}
	}
}

// noteTaskStatus is the notification that servers of 2025-11-25 send.
const noteTaskStatus = "notifications/tasks/status"

// relatedTask returns the path at which a message of 2025-11-25 names its task.
func relatedTask() []string { return []string{"_meta", protocol.MetaRelatedTask, "taskId"} }

// sealCreated seals the id of a task in the result of the call that created it. path is the path of the id.
func (g *Gateway) sealCreated(
	ctx context.Context, origin serverOrigin, m interop.Message, result json.RawMessage, path ...string,
) (json.RawMessage, error) {
	found := false
	tool, _ := protocol.LookupString(m.Params, "name")
	out := wire.EditStrings(result, path, func(id string) string {
		found = true
		own := ownTask{id, tool}
		g.taskTools.store(origin, own)
		// Messages of a legacy server do not name the tool, and must get the same id.
		if c := interop.ClientOf(ctx); c == nil || c.Era == interop.Legacy {
			own.tool = ""
		}
		return g.sealTask(ctx, origin, m.Caller, own)
	})
	if !found {
		return nil, interop.NewFault(interop.Protocol, origin.server, m.Method, errors.New("the task has no id"))
	}
	return out, nil
}
