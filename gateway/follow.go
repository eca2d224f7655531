package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/indusagi/indus/gateway/internal/methods"
	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
)

const (
	noteTask = "notifications/tasks"
	// followWait bounds how long servers have to agree.
	followWait = 10 * time.Second
	// followRetry is the first pause before a server is asked again after a lost connection. It doubles up to
	// maxFollowRetry. It starts anew after a connection that lasted longer than the pause.
	followRetry    = 100 * time.Millisecond
	maxFollowRetry = 30 * time.Second
)

// Follow implements [host.Follower]. It follows the states of the tasks that a client names by its sealed ids
// (SEP-2663, "Task Status Notifications"). Each server is asked for its own tasks, for as long as the client listens.
func (v *view) Follow(
	ctx context.Context, m interop.Message, ids []string, notify func(interop.Message),
) (agreed []string, stop func(), err error) {
	path := []string{"extensions", methods.ExtTasks}
	if m.Client == nil || !protocol.Has(m.Client.Capabilities, path) {
		return nil, nil, &interop.RPCError{
			Code: protocol.CodeMissingCapability, Message: m.Method + ": tasks are followed by clients that declare them",
			Data: json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + methods.ExtTasks + `":{}}}}`),
		}
	}
	listening, cancel := context.WithCancel(ctx)
	ctx, x, err := v.begin(listening, m)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	var following sync.WaitGroup
	stop = func() { cancel(); following.Wait() }
	_, err = x.handle(ctx, func(ctx context.Context) (json.RawMessage, error) {
		all := v.followers(ctx, m, ids, notify)
		late := time.NewTimer(followWait)
		defer late.Stop()
		// The servers are followed after the end of this request, until the client listens no more.
		lasting, end := context.WithCancel(context.WithoutCancel(ctx))
		context.AfterFunc(listening, end)
		for _, f := range all {
			following.Go(func() { f.run(lasting) })
		}
		for _, f := range all {
			select {
			case <-f.answered.Done():
			case <-late.C:
				late.Reset(0) // the other servers are not waited for either
			}
			f.mu.Lock()
			agreed = append(agreed, f.agreed...)
			f.mu.Unlock()
		}
		return nil, ctx.Err()
	})
	if err != nil { // it was cancelled, or could not be recorded
		stop()
		return nil, nil, err
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !slices.Contains(agreed, id) }), stop, nil
}

// taskFollower has one server report the states of some of its tasks to a client.
type taskFollower struct {
	view         *view
	server       string
	origin       serverOrigin // the origin of the server that made the tasks
	request      interop.Message
	requester    listRequester
	exchange     *exchange
	items        map[string]*Access // the items of the tasks, by the client's ids
	first        string             // the client's id of one of the tasks
	ids          map[string]string  // the client's ids, by the server's ids
	notify       func(interop.Message)
	answered     context.Context // ends when the server has agreed or refused, or with the request
	markAnswered context.CancelFunc

	mu     sync.Mutex
	agreed []string // ids of the client
	lost   bool     // a connection was lost, and with it states since then
}

// followers returns a follower for each server of the view that made some of these tasks and has the same origin still.
func (v *view) followers(
	ctx context.Context, m interop.Message, ids []string, notify func(interop.Message),
) (all []*taskFollower) {
	x, needs := exchangeOf(ctx), v.gateway.table["tasks/get"].Needs
	for _, s := range v.gateway.attached.Fleet.Servers() {
		if !v.scope.mayContain(s.ID, methods.ByTool) || !v.gateway.lists.Declares(s.ID, needs) {
			continue
		}
		f := &taskFollower{
			view: v, server: s.ID, origin: originOf(s), request: m, requester: requesterOf(ctx),
			exchange: x, notify: notify,
			items: map[string]*Access{}, ids: map[string]string{},
		}
		for _, id := range ids {
			it, own := administeredItem(s.ID), ownTask{id: id}
			if !v.transparent {
				origin, opened, err := v.gateway.openTask(ctx, m.Caller, id)
				if err != nil || origin != f.origin || v.gateway.setTask(ctx, m, it, origin, opened) != nil {
					continue
				}
				own = opened
			}
			if _, refused := x.admit(ctx, it); refused == nil {
				f.ids[own.id], f.items[id], f.first = id, it, id
			}
		}
		if len(f.ids) > 0 {
			f.answered, f.markAnswered = context.WithCancel(ctx)
			all = append(all, f)
		}
	}
	return all
}

// run asks the server again after each lost connection. It ends with ctx, or if the server refuses or loses its name.
func (f *taskFollower) run(ctx context.Context) {
	defer f.markAnswered()
	params, _ := json.Marshal(map[string]any{"notifications": map[string]any{"taskIds": slices.Sorted(maps.Keys(f.ids))}})
	client := *f.request.Client
	client.Back = f.receive
	ctx = interop.WithClient(ctx, &client)
	for wait := followRetry; ; wait = min(2*wait, maxFollowRetry) {
		if s, ok := f.view.gateway.attached.Fleet.Server(f.server); !ok || originOf(s) != f.origin {
			return
		}
		begun := time.Now()
		listen := interop.Message{Method: protocol.MethodListen, Params: params, Caller: f.request.Caller}
		_, err := f.view.gateway.send(ctx, f.items[f.first], f.server, listen)
		if _, refused := errors.AsType[*interop.RPCError](err); refused {
			return
		}
		f.mu.Lock()
		f.lost = true
		f.mu.Unlock()
		if time.Since(begun) > wait {
			wait = followRetry
		}
		if !watch.Sleep(ctx, wait) {
			return
		}
	}
}

// receive receives the messages that the server sends while it is followed.
func (f *taskFollower) receive(ctx context.Context, m interop.Message) (json.RawMessage, error) {
	switch m.Method {
	case protocol.NoteAcknowledged:
		filter, _ := wire.Lookup(m.Params, "notifications")
		raw, _ := wire.Lookup(filter, "taskIds")
		own, _ := wire.Elements(raw)
		f.mu.Lock()
		f.agreed = nil
		for _, e := range own {
			name, _ := wire.Unquote(e)
			if id, ok := f.ids[name]; ok {
				f.agreed = append(f.agreed, id)
			}
		}
		agreed, lost := f.agreed, f.lost
		f.lost = false
		f.mu.Unlock()
		f.markAnswered()
		if lost {
			f.catchUp(ctx, agreed)
		}
	case noteTask:
		own, _ := protocol.LookupString(m.Params, "taskId")
		id, ok := f.ids[own]
		if !ok || !f.permits(id) {
			break // the client did not ask for this task, or may not have it any more
		}
		if state, err := rewriteTask(f.server, wire.Quote(id), f.view.scope.server == "", m.Params); err == nil {
			f.sendState(state)
		}
	}
	return nil, nil
}

// catchUp sends the current states of the tasks, because nothing is replayed.
func (f *taskFollower) catchUp(ctx context.Context, ids []string) {
	if f.view.scope.server == "" {
		ctx = context.WithValue(ctx, severalKey{}, true)
	}
	ctx = interop.WithClient(ctx, f.request.Client)
	for _, id := range ids {
		if !f.permits(id) {
			continue
		}
		params := wire.Object{}.Raw("taskId", wire.Quote(id)).JSON()
		get := interop.Message{Method: "tasks/get", Params: params, Caller: f.request.Caller}
		state, err := f.view.gateway.send(ctx, f.items[id], f.server, get)
		if err == nil {
			state, err = wire.Rewrite(state, wire.Edit{Key: "resultType"}, wire.Edit{Key: "_meta"})
		}
		if err == nil {
			f.sendState(state)
		}
	}
}

// permits reports whether the policy still permits the task with this id of the client.
func (f *taskFollower) permits(id string) bool {
	it := f.items[id]
	return f.exchange.permits(it.Action, it.Item)
}

// sendState sends the client the state of a task. The state already has the client's id.
func (f *taskFollower) sendState(state json.RawMessage) {
	v, row := f.view, f.view.gateway.table["tasks/get"]
	state = v.rewriteURIs(row, ownName{server: f.server}, "", f.requester, state)
	f.notify(interop.Message{Method: noteTask, Params: state})
}
