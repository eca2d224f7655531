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

// maxQueuedNotes bounds what may wait for a slow listener beside changes, which bound themselves:
// a list or a resource that it asked for waits once.
const maxQueuedNotes = 1024

// maxQueuedBytes bounds what may wait of what servers say and ask outside of any request.
const maxQueuedBytes = 4 << 20

// noteQueue holds what waits to be sent to one listener, in order. put and offer never block. A change
// waits once, however often it is put, and nothing else takes its room.
type noteQueue struct {
	signal chan struct{} // one slot: something is there

	mu    sync.Mutex
	notes watch.Backlog[interop.Message]
}

func newNoteQueue() *noteQueue { return &noteQueue{signal: make(chan struct{}, 1)} }

// put adds a broadcast.
func (b *noteQueue) put(m interop.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(changeOf(m), m)
}

// add adds a notification under a key if there is room. Call it with mu held.
func (b *noteQueue) add(key string, m interop.Message) {
	_, waits := b.notes.Get(key)
	if changes, others, _ := b.notes.Size(); waits || key == "" && others < maxQueuedNotes || key != "" && changes < 2*maxQueuedNotes {
		b.notes.Put(key, len(m.Params), m)
	}
	b.wake()
}

// putUpdate adds an update of the resource that the listener asked for, which may be of a part
// of it: where several parts of it wait, the listener is to look at the whole.
func (b *noteQueue) putUpdate(uri string, m interop.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := updateOf(uri)
	if before, waits := b.notes.Get(key); waits && updatedURI(before) != updatedURI(m) {
		m.Params = wire.Object{}.Text("uri", uri).JSON()
	}
	b.add(key, m)
}

// withdraw takes back the update of a resource.
func (b *noteQueue) withdraw(uri string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notes.Remove(func(key string, _ interop.Message) bool { return key == updateOf(uri) })
}

// offer adds one that is no broadcast: each is one of its own, and half of the room is left for
// those. It reports whether there was room.
func (b *noteQueue) offer(m interop.Message) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, others, bytes := b.notes.Size()
	room := others == 0 || others < maxQueuedNotes/2 && bytes+len(m.Params) <= maxQueuedBytes
	if room {
		b.notes.Put("", len(m.Params), m)
	}
	b.wake()
	return room
}

// restore puts back what could not be sent, before what has come since.
func (b *noteQueue) restore(notes []interop.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range append(slices.Clip(notes), b.notes.Take()...) {
		b.notes.Put(changeOf(m), len(m.Params), m)
	}
	b.wake()
}

// questions takes the requests that wait.
func (b *noteQueue) questions() []interop.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.notes.Remove(func(_ string, m interop.Message) bool { return m.ID != nil })
}

// remove takes a request back; false where it has been taken already, or never waited.
func (b *noteQueue) remove(id json.RawMessage) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.notes.Remove(func(_ string, m interop.Message) bool { return m.ID != nil && string(m.ID) == string(id) }) != nil
}

func (b *noteQueue) wake() {
	select {
	case b.signal <- struct{}{}:
	default:
	}
}

// take takes all.
func (b *noteQueue) take() []interop.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.notes.Take()
}

// changeOf names what a notification says has changed; "": it says something else.
func changeOf(m interop.Message) string {
	switch {
	case strings.HasSuffix(m.Method, "/list_changed"):
		return m.Method
	case m.Method == protocol.NoteResourceUpdated:
		return updateOf(updatedURI(m))
	}
	return ""
}

func updateOf(uri string) string { return protocol.NoteResourceUpdated + " " + uri }

func updatedURI(m interop.Message) string {
	uri, _ := protocol.LookupString(m.Params, "uri")
	return uri
}

// changeDelay gathers the changes of a list into one notification: twenty
// servers that come up together are not twenty listings.
const changeDelay = 50 * time.Millisecond

// subscribe lets a queue have the backend's notifications that wanted takes; nil
// takes all. The first one makes the front watch the backend.
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
	stop := f.backend.Watch(f.told)
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

// told takes a notification of the backend's. One of a list that has changed waits for
// others of the same list.
func (f *front) told(m interop.Message) {
	if !strings.HasSuffix(m.Method, "/list_changed") {
		f.broadcast(m)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, waits := f.gathering[m.Method]; f.closed || waits {
		return
	}
	f.gathering[m.Method] = time.AfterFunc(changeDelay, func() {
		f.mu.Lock()
		delete(f.gathering, m.Method)
		f.mu.Unlock()
		f.broadcast(m)
	})
}

// broadcast puts a notification into the queue of everyone who wants it.
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
	for _, waits := range f.gathering {
		waits.Stop()
	}
	f.mu.Unlock()
	f.exchanges.close()
	if stop != nil {
		stop()
	}
}

// listChanges is the notifications that a client may subscribe to, by the field
// of the filter that asks for each and the feature that must declare listChanged.
func listChanges() []struct{ field, feature, method string } {
	return []struct{ field, feature, method string }{
		{"toolsListChanged", "tools", protocol.NoteToolsChanged},
		{"promptsListChanged", "prompts", protocol.NotePromptsChanged},
		{"resourcesListChanged", "resources", protocol.NoteResourcesChanged},
	}
}

// agreeOn is the part of a filter that the capabilities declare, as members of an object, and
// the notifications that it stands for. What is agreed of resources is said by hold.
func agreeOn(filter, capabilities json.RawMessage) (agreed wire.Object, methods []string) {
	for _, c := range listChanges() {
		if want, _ := wire.Lookup(filter, c.field); string(want) == "true" && protocol.Declares(capabilities, c.feature, "listChanged") {
			agreed = agreed.Raw(c.field, []byte("true"))
			methods = append(methods, c.method)
		}
	}
	return agreed, methods
}

// listen answers subscriptions/listen when the subscription ends: with a result
// where the host ends it, else not at all (2026-07-28, basic/patterns/subscriptions).
func (f *front) listen(ctx context.Context, r *frontRequest) frontAnswer {
	filter, _ := wire.Lookup(r.params, "notifications")
	if len(filter) == 0 || filter[0] != '{' {
		return frontError(http.StatusBadRequest, interop.CodeInvalidParams, "subscriptions/listen lacks notifications")
	}
	uris, err := filterOf(filter, "resourceSubscriptions")
	tasks, bad := filterOf(filter, "taskIds")
	if err = cmp.Or(err, bad); err != nil {
		return frontError(http.StatusBadRequest, interop.CodeInvalidParams, "subscriptions/listen: %v", err)
	}
	d, err := f.describe(ctx, r)
	if err != nil {
		return f.failure(ctx, r, err)
	}
	agreed, methods := agreeOn(filter, d.capabilities)
	queue := newNoteQueue()
	f.subscribe(queue, func(method string) bool { return slices.Contains(methods, method) })
	defer f.unsubscribe(queue)
	held := newHolding(f, queue)
	defer held.end()
	if uris = held.addAll(ctx, r, uris); len(uris) > 0 {
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
			meta := wire.Object{}.Raw(protocol.MetaSubscription, r.id).Raw(protocol.MetaServerInfo, f.name()).JSON()
			return resultOf(wire.Object{}.Text("resultType", "complete").Raw("_meta", meta))
		}
		for _, m := range queue.take() {
			if err := r.send(nil, m.Method, tagged(m.Params, r.id)); err != nil {
				return frontAnswer{}
			}
		}
	}
}

// tagged is the params of a notification for the subscription id.
func tagged(params, id json.RawMessage) json.RawMessage {
	if len(params) == 0 || params[0] != '{' {
		params = json.RawMessage(`{}`)
	}
	meta := metaOf(params)
	if meta == nil {
		meta = json.RawMessage(`{}`)
	}
	meta, err := wire.Rewrite(meta, wire.Edit{Key: protocol.MetaSubscription, Value: id})
	if err == nil {
		params, err = wire.Rewrite(params, wire.Edit{Key: "_meta", Value: meta})
	}
	if err != nil { // a key stands twice: only the tag is sure
		return wire.Object{}.Raw("_meta", wire.Object{}.Raw(protocol.MetaSubscription, id).JSON()).JSON()
	}
	return params
}
