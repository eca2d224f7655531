package host

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
)

// maxQueuedNotes bounds the notifications that wait for a slow listener. Changes of lists and resources do not count.
// Each of them waits at most once, and at most twice this number of changes waits.
const maxQueuedNotes = 1024

// maxQueuedBytes bounds the bytes of waiting messages from servers that belong to no request.
const maxQueuedBytes = 4 << 20

// noteQueue holds the messages that wait for one listener, in order. put and offer never block. A change waits once,
// however often it is put, and other messages cannot take its room.
type noteQueue struct {
	signal chan struct{} // one slot: a message waits

	mu    sync.Mutex
	notes watch.Backlog[interop.Message]
}

func newNoteQueue() *noteQueue { return &noteQueue{signal: make(chan struct{}, 1)} }

// put adds a broadcast.
func (b *noteQueue) put(m interop.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(changeKey(m), m)
}

// add adds a notification under a key if there is room. Call it with mu held.
func (b *noteQueue) add(key string, m interop.Message) {
	_, room := b.notes.Get(key)
	switch changes, others, _ := b.notes.Size(); {
	case key == "":
		room = others < maxQueuedNotes
	case !room:
		room = changes < 2*maxQueuedNotes
	}
	if room {
		b.notes.Put(key, len(m.Params), m)
	}
	watch.Signal(b.signal)
}

// putUpdate adds an update for the resource that the listener subscribed to. The update may concern a part of the
// resource. If updates of several parts wait, they become one update of the whole resource.
func (b *noteQueue) putUpdate(uri string, m interop.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := updateKey(uri)
	if previous, waiting := b.notes.Get(key); waiting && updatedURI(previous) != updatedURI(m) {
		m.Params = wire.Object{}.Text("uri", uri).JSON()
	}
	b.add(key, m)
}

// withdraw removes the waiting update of a resource.
func (b *noteQueue) withdraw(uri string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notes.Remove(func(key string, _ interop.Message) bool { return key == updateKey(uri) })
}

// offer adds a message that is not a broadcast. Each of them waits separately, and they may use half of the room. It
// returns false if there is no room.
func (b *noteQueue) offer(m interop.Message) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, others, bytes := b.notes.Size()
	room := others == 0 || others < maxQueuedNotes/2 && bytes+len(m.Params) <= maxQueuedBytes
	if room {
		b.notes.Put("", len(m.Params), m)
	}
	watch.Signal(b.signal)
	return room
}

// restore puts messages that could not be sent back in front of newer ones.
func (b *noteQueue) restore(notes []interop.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range append(slices.Clip(notes), b.notes.Take()...) {
		b.notes.Put(changeKey(m), len(m.Params), m)
	}
	watch.Signal(b.signal)
}

// takeQuestions removes the waiting requests and returns them.
func (b *noteQueue) takeQuestions() []interop.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.notes.Remove(func(_ string, m interop.Message) bool { return m.ID != nil })
}

// remove removes a waiting request. It returns false if the request is not in the queue.
func (b *noteQueue) remove(id json.RawMessage) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	matches := func(_ string, m interop.Message) bool { return m.ID != nil && string(m.ID) == string(id) }
	return b.notes.Remove(matches) != nil
}

// take removes all messages and returns them.
func (b *noteQueue) take() []interop.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.notes.Take()
}

// changeKey returns a key for the list or resource that a notification reports as changed. It returns "" for other
// notifications.
func changeKey(m interop.Message) string {
	switch {
	case strings.HasSuffix(m.Method, "/list_changed"):
		return m.Method
	case m.Method == protocol.NoteResourceUpdated:
		return updateKey(updatedURI(m))
	}
	return ""
}

func updateKey(uri string) string { return protocol.NoteResourceUpdated + " " + uri }

func updatedURI(m interop.Message) string {
	uri, _ := protocol.LookupString(m.Params, "uri")
	return uri
}

// changeDelay is the time in which changes of a list are combined into one notification. Without it, a start of twenty
// servers at once would cause twenty listings.
const changeDelay = 50 * time.Millisecond

// subscribe adds a queue to the listeners. The queue receives the backend's notifications for which wanted returns
// true, or all notifications if wanted is nil. The first call makes the front watch the backend.
func (f *front) subscribe(queue *noteQueue, wanted func(method string) bool) {
	f.mu.Lock()
	start := !f.watching && !f.closed
	if !f.closed {
		f.listeners[queue] = wanted
		f.watching = true
	}
	f.mu.Unlock()
	if !start {
		return
	}
	stop := f.backend.Watch(f.receiveNotification)
	f.mu.Lock()
	closed := f.closed
	if !closed {
		f.stop = stop
	}
	f.mu.Unlock()
	if closed {
		stop()
	}
}

func (f *front) unsubscribe(queue *noteQueue) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.listeners, queue)
}

// receiveNotification receives a notification from the backend. A change of a list is held for changeDelay, to combine
// it with others of the same list.
func (f *front) receiveNotification(m interop.Message) {
	if !strings.HasSuffix(m.Method, "/list_changed") {
		f.broadcast(m)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, waiting := f.pendingChanges[m.Method]; f.closed || waiting {
		return
	}
	f.pendingChanges[m.Method] = time.AfterFunc(changeDelay, func() {
		f.mu.Lock()
		delete(f.pendingChanges, m.Method)
		f.mu.Unlock()
		f.broadcast(m)
	})
}

// broadcast puts a notification into the queue of each listener that wants it.
func (f *front) broadcast(m interop.Message) {
	f.mu.Lock()
	var queues []*noteQueue
	for queue, wanted := range f.listeners {
		if wanted == nil || wanted(m.Method) {
			queues = append(queues, queue)
		}
	}
	f.mu.Unlock()
	for _, queue := range queues {
		queue.put(m)
	}
}

// close stops watching the backend.
func (f *front) close() {
	f.mu.Lock()
	stop := f.stop
	f.closed, f.stop = true, nil
	for _, timer := range f.pendingChanges {
		timer.Stop()
	}
	f.mu.Unlock()
	f.exchanges.Close()
	if stop != nil {
		stop()
	}
}

// supportedFilter returns the part of a filter that the capabilities support, as members of an object, and the methods
// of its notifications. Resources are handled by subscriptionSet.
func supportedFilter(filter, capabilities json.RawMessage) (agreed wire.Object, methods []string) {
	for _, feature := range []string{"tools", "prompts", "resources"} {
		want, _ := wire.Lookup(filter, feature+"ListChanged")
		if string(want) == "true" && protocol.Declares(capabilities, feature, "listChanged") {
			agreed = agreed.Raw(feature+"ListChanged", want)
			methods = append(methods, "notifications/"+feature+"/list_changed")
		}
	}
	return agreed, methods
}

// listen answers subscriptions/listen when the subscription ends. If the host ends it, the answer is a result.
// Otherwise there is no answer (2026-07-28, basic/patterns/subscriptions).
func (f *front) listen(ctx context.Context, r *frontRequest) frontAnswer {
	filter, _ := wire.Lookup(r.params, "notifications")
	if len(filter) == 0 || filter[0] != '{' {
		return frontError(http.StatusBadRequest, interop.CodeInvalidParams, "subscriptions/listen lacks notifications")
	}
	uris, err := filterOf(filter, "resourceSubscriptions")
	tasks, bad := filterOf(filter, "taskIds")
	err = cmp.Or(err, bad)
	if err != nil {
		return frontError(http.StatusBadRequest, interop.CodeInvalidParams, "subscriptions/listen: %v", err)
	}
	d, err := f.describe(ctx, r)
	if err != nil {
		return f.failure(ctx, r, err)
	}
	agreed, methods := supportedFilter(filter, d.capabilities)
	queue := newNoteQueue()
	f.subscribe(queue, func(method string) bool { return slices.Contains(methods, method) })
	defer f.unsubscribe(queue)
	subscriptions := newSubscriptionSet(f, queue)
	defer subscriptions.end()
	uris = subscriptions.addAll(ctx, r, uris)
	if len(uris) > 0 {
		agreed = agreed.Raw("resourceSubscriptions", stringsJSON(uris))
	}
	tasks, unfollow, err := f.follow(ctx, r, tasks, queue)
	if err != nil {
		return f.failure(ctx, r, err)
	}
	defer unfollow()
	if len(tasks) > 0 {
		agreed = agreed.Raw("taskIds", stringsJSON(tasks))
	}
	tag := wire.Object{}.Raw(protocol.MetaSubscription, r.id).JSON()
	ack := wire.Object{}.Raw("_meta", tag).Raw("notifications", agreed.JSON())
	if err := r.send(nil, protocol.NoteAcknowledged, ack.JSON()); err != nil {
		return frontAnswer{}
	}
	for {
		select {
		case <-queue.signal:
		case <-ctx.Done():
			if context.Cause(ctx) != errHostClosed {
				return frontAnswer{}
			}
			meta := wire.Object{}.Raw(protocol.MetaSubscription, r.id).Raw(protocol.MetaServerInfo, f.serverInfo()).JSON()
			return resultOf(wire.Object{}.Text("resultType", "complete").Raw("_meta", meta))
		}
		for _, m := range queue.take() {
			if err := r.send(nil, m.Method, withSubscriptionID(m.Params, r.id)); err != nil {
				return frontAnswer{}
			}
		}
	}
}

// withSubscriptionID returns the params of a notification with the subscription id.
func withSubscriptionID(params, id json.RawMessage) json.RawMessage {
	if len(params) == 0 || params[0] != '{' {
		params = json.RawMessage(`{}`)
	}
	meta := protocol.MetaOf(params)
	if meta == nil {
		meta = json.RawMessage(`{}`)
	}
	meta, err := wire.Rewrite(meta, wire.Edit{Key: protocol.MetaSubscription, Value: id})
	if err == nil {
		params, err = wire.Rewrite(params, wire.Edit{Key: "_meta", Value: meta})
	}
	if err != nil { // a key occurs twice: only the tag is safe
		return wire.Object{}.Raw("_meta", wire.Object{}.Raw(protocol.MetaSubscription, id).JSON()).JSON()
	}
	return params
}
