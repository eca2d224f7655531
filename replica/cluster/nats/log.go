package nats

import (
	"context"
	"fmt"
	"sync"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/indusagi/indus/replica/cluster"
)

// Log implements [cluster.Engine]. Each log is a stream.
func (e *Engine) Log(ctx context.Context, name string) (cluster.Log, error) {
	if !isName(name) {
		return nil, fmt.Errorf("%.40q is no name of a log", name)
	}
	ctx, cancel, err := e.step(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	subject := e.opts.Name + ".log." + name
	s, err := e.stream(ctx, jetstream.StreamConfig{
		Name: e.opts.Name + "-log-" + name, Subjects: []string{subject}, Description: "a log of indus", DenyPurge: true,
	})
	return &streamLog{e, subject, s}, err
}

// streamLog is a log.
type streamLog struct {
	*Engine
	subject string
	stream  jetstream.Stream
}

// Append implements [cluster.Log].
func (l *streamLog) Append(ctx context.Context, data []byte, after uint64) (uint64, error) {
	if len(data) > cluster.MaxValue {
		return 0, fmt.Errorf("a record of %d bytes is too long: at most %d fit", len(data), cluster.MaxValue)
	}
	ctx, cancel, err := l.step(ctx)
	if err != nil {
		return 0, err
	}
	defer cancel()
	return l.publish(ctx, &client.Msg{Subject: l.subject, Data: data, Header: client.Header{}}, after, 0)
}

// Read implements [cluster.Log].
func (l *streamLog) Read(ctx context.Context, after uint64, limit int) ([]cluster.Record, error) {
	info, err := asked(ctx, l.Engine, func(ctx context.Context) (*jetstream.StreamInfo, error) {
		return l.stream.Info(ctx)
	})
	if err != nil || after >= info.State.LastSeq {
		return nil, err
	}
	n := int(min(info.State.LastSeq-after, uint64(limit)))
	// An ordered consumer would try again without end, and not regard the context.
	consumer, err := asked(ctx, l.Engine, func(ctx context.Context) (jetstream.Consumer, error) {
		return l.stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
			DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1,
			AckPolicy: jetstream.AckNonePolicy, InactiveThreshold: stepWait, MemoryStorage: true, Replicas: 1,
		})
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel, err := l.step(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	return answered(ctx, func() ([]cluster.Record, error) { return l.fetch(ctx, consumer, after, n) })
}

// fetch returns the n records after a sequence.
func (l *streamLog) fetch(
	ctx context.Context, consumer jetstream.Consumer, after uint64, n int,
) (out []cluster.Record, err error) {
	batch, err := consumer.Fetch(n, jetstream.FetchContext(ctx))
	if err != nil {
		return nil, fault(err)
	}
	for m := range batch.Messages() {
		meta, err := m.Metadata()
		if err != nil || meta.Sequence.Stream != after+uint64(len(out))+1 {
			missing := after + uint64(len(out)) + 1
			return nil, fmt.Errorf("the log %s has no record %d: a message was removed", l.subject, missing)
		}
		out = append(out, cluster.Record{Sequence: meta.Sequence.Stream, Data: m.Data()})
	}
	if err := batch.Error(); err != nil {
		return nil, fault(err)
	}
	if len(out) < n { // the server ended the request
		return nil, fault(fmt.Errorf("%d of %d records of %s arrived", len(out), n, l.subject))
	}
	return out, nil
}

// topic returns the subject of a topic.
func (e *Engine) topic(topic string) string { return e.opts.Name + ".bus." + encodeKey(topic) }

// Publish implements [cluster.Bus].
func (e *Engine) Publish(_ context.Context, topic string, data []byte) error {
	return fault(e.conn.Publish(e.topic(topic), data))
}

// Subscribe implements [cluster.Bus].
func (e *Engine) Subscribe(topic string, handle func([]byte)) (func(), error) {
	var mu sync.Mutex
	stopped := false
	s, err := e.conn.Subscribe(e.topic(topic), func(m *client.Msg) {
		mu.Lock()
		defer mu.Unlock()
		if !stopped {
			handle(m.Data)
		}
	})
	if err == nil {
		err = e.conn.FlushTimeout(stepWait) // the server knows it before the next message
	}
	if err != nil {
		_ = s.Unsubscribe()
		return nil, fault(err)
	}
	return func() {
		_ = s.Unsubscribe()
		mu.Lock()
		defer mu.Unlock()
		stopped = true
	}, nil
}
