package nats

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/indusagi/indus/cluster"
)

// KV implements [cluster.Engine]. All KVs are in one stream, as subjects with the name as a token.
func (e *Engine) KV(name string) cluster.KV { return &kv{e, name + "."} }

// kv is a KV.
type kv struct {
	*Engine
	prefix string
}

// encodeKey returns a key as one token of a subject. Every byte but letters and digits becomes "=" and two digits.
func encodeKey(key string) string {
	var b strings.Builder
	b.WriteByte('=') // so that the empty key has a token
	for _, c := range []byte(key) {
		switch {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '-', c == '_':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	return b.String()
}

// decodeKey returns the key of a token, and false if the token is not one of encodeKey.
func decodeKey(token string) (string, bool) {
	rest, ok := strings.CutPrefix(token, "=")
	var b strings.Builder
	for i := 0; ok && i < len(rest); i++ {
		if rest[i] != '=' {
			b.WriteByte(rest[i])
			continue
		}
		n, err := strconv.ParseUint(rest[i+1:min(i+3, len(rest))], 16, 8)
		if err != nil {
			return "", false
		}
		b.WriteByte(byte(n))
		i += 2
	}
	return b.String(), ok && encodeKey(b.String()) == token
}

// Get implements [cluster.KV].
func (k *kv) Get(ctx context.Context, key string) (cluster.Entry, error) {
	ctx, cancel, err := k.step(ctx)
	if err != nil {
		return cluster.Entry{}, err
	}
	defer cancel()
	got, err := k.kv.Get(ctx, k.prefix+encodeKey(key))
	if err != nil {
		return cluster.Entry{}, fault(err)
	}
	return cluster.Entry{Key: key, Value: got.Value(), Revision: got.Revision(), Stored: got.Created()}, nil
}

// Set implements [cluster.KV]. The method Update of NATS would drop the time to live of the key.
func (k *kv) Set(
	ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration,
) (uint64, error) {
	if len(value) > cluster.MaxValue || len(key) > cluster.MaxKey {
		return 0, fmt.Errorf("a key of %d bytes with %d bytes is too long: at most %d and %d fit", len(key), len(value),
			cluster.MaxKey, cluster.MaxValue)
	}
	ctx, cancel, err := k.step(ctx)
	if err != nil {
		return 0, err
	}
	defer cancel()
	token := k.prefix + encodeKey(key)
	if revision == 0 { // Create also follows the mark of a deleted key
		stored, err := k.kv.Create(ctx, token, value, jetstream.KeyTTL(ttl))
		return stored, fault(err)
	}
	return k.publish(ctx, "$KV."+k.opts.Name+"."+token, value, ttl,
		jetstream.WithExpectLastSequencePerSubject(revision))
}

// publish stores a message in a stream, and returns its sequence.
func (e *Engine) publish(
	ctx context.Context, subject string, data []byte, ttl time.Duration, options ...jetstream.PublishOpt,
) (uint64, error) {
	if ttl > 0 {
		options = append(options, jetstream.WithMsgTTL(ttl))
	}
	ack, err := e.js.PublishMsg(ctx, &client.Msg{Subject: subject, Data: data, Header: client.Header{}}, options...)
	if err != nil {
		return 0, fault(err)
	}
	return ack.Sequence, nil
}

// Delete implements [cluster.KV].
func (k *kv) Delete(ctx context.Context, key string, revision uint64) error {
	if revision == 0 {
		return cluster.ErrConflict
	}
	ctx, cancel, err := k.step(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	return fault(k.kv.Purge(ctx, k.prefix+encodeKey(key), jetstream.LastRevision(revision),
		jetstream.PurgeTTL(markerTime)))
}

const (
	watchPause = 250 * time.Millisecond
	// watchWait bounds the time until the first entries arrive.
	watchWait = 10 * time.Second
)

// Watch implements [cluster.KV]. After an interruption it reads all keys again, because marks of deleted keys may be
// gone by then.
func (k *kv) Watch(ctx context.Context, handle func(cluster.Change)) error {
	w := &watcher{kv: k, handle: handle, known: map[string]uint64{}}
	for ctx.Err() == nil {
		w.run(ctx)
		select {
		case <-time.After(watchPause):
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// watcher is the state of one Watch.
type watcher struct {
	*kv
	handle func(cluster.Change)
	known  map[string]uint64 // revisions that were delivered
	began  bool
}

// run delivers changes until the watch is interrupted.
func (w *watcher) run(ctx context.Context) {
	again := w.next()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	updates, err := w.kv.kv.Watch(ctx, w.prefix+"*")
	if err != nil {
		return
	}
	defer func() { _ = updates.Stop() }()
	late := time.NewTimer(watchWait)
	defer late.Stop()
	seen := map[string]bool{}
	for {
		select {
		case e, ok := <-updates.Updates():
			switch {
			case !ok:
				return
			case e == nil: // the end of the first entries
				late.Stop()
				w.current(seen)
				seen = nil
			default:
				w.deliver(e, seen)
			}
		case <-again:
			return
		case <-late.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// deliver delivers an entry. seen is nil after the first entries.
func (w *watcher) deliver(e jetstream.KeyValueEntry, seen map[string]bool) {
	key, ok := decodeKey(strings.TrimPrefix(e.Key(), w.prefix))
	if !ok || e.Revision() <= w.known[key] {
		if ok && seen != nil {
			seen[key] = true
		}
		return
	}
	if e.Operation() != jetstream.KeyValuePut {
		if _, ok := w.known[key]; ok {
			delete(w.known, key)
			w.handle(cluster.Change{Entry: cluster.Entry{Key: key}, Gone: true})
		}
		return
	}
	if seen != nil {
		seen[key] = true
	}
	w.known[key] = e.Revision()
	w.handle(cluster.Change{Entry: cluster.Entry{
		Key: key, Value: e.Value(), Revision: e.Revision(), Stored: e.Created(),
	}})
}

// current delivers which keys are gone since an earlier run, and that the first entries are complete.
func (w *watcher) current(seen map[string]bool) {
	for key := range w.known {
		if !seen[key] {
			delete(w.known, key)
			w.handle(cluster.Change{Entry: cluster.Entry{Key: key}, Gone: true})
		}
	}
	if !w.began {
		w.began = true
		w.handle(cluster.Change{Current: true})
	}
}
