package nats

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/indusagi/indus/internal/watch"
	"github.com/indusagi/indus/replica/cluster"
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
	got, err := asked(ctx, k.Engine, func(ctx context.Context) (jetstream.KeyValueEntry, error) {
		return k.kv.Get(ctx, k.prefix+encodeKey(key))
	})
	if err != nil {
		return cluster.Entry{}, err
	}
	k.noteTime(got.Created())
	return cluster.Entry{Key: key, Value: got.Value(), Revision: got.Revision(), Stored: got.Created()}, nil
}

// Set implements [cluster.KV].
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
	m := k.message(key, value)
	last, err := k.publish(ctx, m, revision, ttl)
	if revision == 0 && errors.Is(err, cluster.ErrConflict) {
		if _, failed := k.kv.Get(ctx, k.prefix+encodeKey(key)); errors.Is(failed, jetstream.ErrKeyNotFound) {
			return k.publish(ctx, m, last, ttl) // last is the mark of a deleted key
		}
	}
	return last, err
}

// message returns the message that stores a key.
func (k *kv) message(key string, value []byte) *client.Msg {
	subject := "$KV." + k.opts.Name + "." + k.prefix + encodeKey(key)
	return &client.Msg{Subject: subject, Data: value, Header: client.Header{}}
}

// publishPause is the pause before a message is sent again.
const publishPause = 20 * time.Millisecond

// publish stores a message in a stream if last is the sequence of the last message with its subject, and returns its
// sequence. With ErrConflict it returns the sequence of the message that is the last one instead.
//
// While the leader of a stream changes, the former leader and the next one may both answer. The former one may report
// a conflict although the next one stores the message. So the message is sent again with the same ID. The conflict
// counts if a server then has a later message and does not know the ID: the message is not stored, and cannot be stored
// any more. A stream with one replica looks for the ID last, but no other server can store its messages: its first
// answer counts.
func (e *Engine) publish(ctx context.Context, m *client.Msg, last uint64, ttl time.Duration) (uint64, error) {
	options := []jetstream.PublishOpt{
		jetstream.WithExpectLastSequencePerSubject(last), jetstream.WithMsgID(rand.Text()),
	}
	if ttl > 0 {
		options = append(options, jetstream.WithMsgTTL(ttl))
	}
	e.mu.Lock()
	isFinal := !e.replicated
	e.mu.Unlock()
	for ; ; isFinal = true {
		ack, err := e.js.PublishMsg(ctx, m, options...)
		if err == nil {
			return ack.Sequence, nil
		}
		now, isConflict := conflict(err)
		switch {
		case !isConflict:
			return 0, fault(err)
		case isFinal && now > last:
			return now, cluster.ErrConflict
		case isFinal && !watch.Sleep(ctx, publishPause):
			return 0, fault(fmt.Errorf("no server confirms the conflict with revision %d: %w", last, err))
		}
	}
}

// conflict reports whether an error is a conflict, and returns the sequence of the last message. It is 0 if the server
// does not report it, because it stores another message just now.
func conflict(err error) (last uint64, ok bool) {
	api, ok := errors.AsType[*jetstream.APIError](err)
	if !ok {
		return 0, false
	}
	switch api.ErrorCode {
	case jetstream.JSErrCodeStreamWrongLastSequence:
		_, _ = fmt.Sscanf(api.Description, "wrong last sequence: %d", &last)
		return last, true
	case jetstream.JSErrCodeStreamWrongLastSequenceConstant, errCodeDuplicate:
		return 0, true
	}
	return 0, false
}

// errCodeDuplicate is reported while the server stores a message with the same ID.
const errCodeDuplicate = 10158

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
	m := k.message(key, nil)
	m.Header.Set("KV-Operation", "PURGE")
	m.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	_, err = k.publish(ctx, m, revision, markerTime)
	return err
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
		watch.Sleep(ctx, watchPause)
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
	late := time.AfterFunc(watchWait, cancel)
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
	w.noteTime(e.Created())
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
