package host

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/indusagi/indus/internal/protocol"
	"github.com/indusagi/indus/internal/wire"
	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/toolbox"
)

// changeDelay gathers changes of a toolbox into one notification: twenty
// servers that come up together are not twenty listings.
const changeDelay = 50 * time.Millisecond

// toolsBackend is a [Backend] over a toolbox.
type toolsBackend struct {
	src        toolbox.Source
	parameters bool         // publish what models see
	exact      bool         // mend nothing
	size       int          // tools on a page of tools/list; 0: all
	log        *slog.Logger // nil: silent

	mu   sync.Mutex
	kept []keptList
}

var _ Backend = (*toolsBackend)(nil)

// Tools is a [Backend] that publishes a toolbox: tools/list from its snapshots,
// tools/call into its exact door.
//
// Schemas and whole tools are published as their owners wrote them, but for the name
// and for what makes the clients of an era refuse a whole list, which is left out. A
// tool whose input schema is not of type "object" is not published at all.
func Tools(src toolbox.Source) Backend { return newToolsBackend(src) }

func newToolsBackend(src toolbox.Source) *toolsBackend { return &toolsBackend{src: src} }

// Handle implements [Backend].
func (t *toolsBackend) Handle(ctx context.Context, m interop.Message, back interop.Peer) (json.RawMessage, error) {
	switch m.Method {
	case protocol.MethodDiscover:
		b := []byte(`{"capabilities":{"tools":{"listChanged":true}}`)
		s := t.src.Snapshot(m.Caller)
		if says := instructionsOf(s); says != "" {
			b = append(append(b, `,"instructions":`...), wire.Quote(says)...)
		}
		if len(s.Pending) > 0 { // who may have more to say
			b = append(b, `,"ttlMs":0`...)
		}
		return append(b, '}'), nil
	case protocol.MethodToolsList:
		cursor, _ := wire.Lookup(m.Params, "cursor")
		return t.list(m.Caller).page(m.Era, cursor, t.size)
	case protocol.MethodToolsCall:
		return t.call(ctx, m, back)
	}
	return nil, &interop.RPCError{Code: interop.CodeMethodNotFound, Message: "method not found: " + m.Method}
}

// Watch implements [Backend]. Changes that come close together are told once.
func (t *toolsBackend) Watch(notify func(interop.Message)) (stop func()) {
	changed := make(chan struct{}, 1)
	unwatch := t.src.Watch(func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		delay := time.NewTimer(changeDelay)
		defer delay.Stop()
		for {
			select {
			case <-changed:
			case <-end:
				return
			}
			delay.Reset(changeDelay)
			select {
			case <-delay.C:
			case <-end:
				return
			}
			select { // what came meanwhile is told with it
			case <-changed:
			default:
			}
			notify(interop.Message{Method: protocol.NoteToolsChanged})
		}
	}()
	var once sync.Once
	return func() {
		once.Do(func() { unwatch(); close(end) })
		<-ended
	}
}

// Settle waits until no server is pending of which nothing is listed yet, or ctx ends; see
// [NewFront].
func (t *toolsBackend) Settle(ctx context.Context, p toolbox.Principal) {
	changed := make(chan struct{}, 1)
	stop := t.src.Watch(func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	defer stop()
	for unlisted(t.src.Snapshot(p)) {
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// unlisted reports whether a server is pending of which nothing is known either.
func unlisted(s *toolbox.Snapshot) bool {
	return slices.ContainsFunc(s.Pending, func(server string) bool {
		return !slices.ContainsFunc(s.Tools, func(d toolbox.Descriptor) bool { return d.Server == server })
	})
}
