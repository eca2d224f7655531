package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// errCodeNoLeader is reported while too few servers are there to elect a leader.
const errCodeNoLeader = 10008

// require checks the server and opens the stream of keys. Each of its requests has connectWait: the server may be far
// away.
func (e *Engine) require(ctx context.Context) error {
	var missing []error
	if n := e.conn.MaxPayload(); n < minPayload {
		missing = append(missing, fmt.Errorf("the server accepts messages of %d bytes: set max_payload to 1MB or more", n))
	}
	_, err := e.js.AccountInfo(ctx)
	if errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
		err = fmt.Errorf("JetStream is not enabled: add jetstream { store_dir: … } to the server, or enable it for the "+
			"account: %w", err)
		return errors.Join(append(missing, err)...)
	}
	if err == nil {
		err = e.openKeys(ctx)
	} else {
		err = fault(err)
	}
	return errors.Join(append(missing, err)...)
}

// openKeys creates or checks the stream of all keys.
func (e *Engine) openKeys(ctx context.Context) error {
	s, err := e.stream(ctx, jetstream.StreamConfig{
		Name: "KV_" + e.opts.Name, Subjects: []string{"$KV." + e.opts.Name + ".>"}, Description: "keys of indus",
		MaxMsgsPerSubject: 1, AllowRollup: true, AllowMsgTTL: true, SubjectDeleteMarkerTTL: markerTime,
		// Without AllowDirect the leader answers. A follower may answer with an old value.
	})
	if err == nil {
		e.isNew = s.CachedInfo().State.LastSeq == 0
		e.kv, err = e.js.KeyValue(ctx, e.opts.Name)
	}
	return err
}

// stream creates a stream, or checks that it is as the configuration says.
func (e *Engine) stream(ctx context.Context, want jetstream.StreamConfig) (jetstream.Stream, error) {
	want.Storage, want.DenyDelete = jetstream.FileStorage, true
	want.Discard = jetstream.DiscardNew // a full stream refuses, and does not forget
	want.Replicas = e.opts.Replicas
	if want.Replicas == 0 {
		want.Replicas = 1
		if e.conn.ConnectedClusterName() != "" {
			want.Replicas = 3
		}
	}
	sent := time.Now()
	s, err := e.js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		sent = time.Now()
		s, err = e.js.CreateStream(ctx, want)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another process was faster
			s, err = e.js.Stream(ctx, want.Name)
		}
	}
	if api, ok := errors.AsType[*jetstream.APIError](err); err != nil && (!ok || api.ErrorCode == errCodeNoLeader) {
		return nil, fmt.Errorf("the stream %s: %w", want.Name, fault(err))
	}
	if err != nil {
		return nil, fmt.Errorf("the stream %s with %d replicas cannot be opened: %w (with fewer than 3 servers set "+
			`"replicas": 1)`, want.Name, want.Replicas, err)
	}
	info := s.CachedInfo()
	e.setClock(info.TimeStamp, sent)
	e.mu.Lock()
	e.opened[want.Name] = info.Created
	e.replicated = e.replicated || info.Config.Replicas > 1
	e.mu.Unlock()
	got := info.Config
	var wrong []error
	check := func(ok bool, format string, arguments ...any) {
		if !ok {
			wrong = append(wrong, fmt.Errorf("the stream "+want.Name+" "+format, arguments...))
		}
	}
	check(got.Storage == want.Storage, "is in memory: remove it, and indus creates it on disk")
	check(got.Discard == want.Discard, "drops old messages when it is full: set its discard policy to new")
	check(e.opts.Replicas == 0 || got.Replicas == want.Replicas,
		"has %d replicas, and the configuration requires %d: change one of them", got.Replicas, want.Replicas)
	check(got.AllowMsgTTL == want.AllowMsgTTL && got.SubjectDeleteMarkerTTL >= want.SubjectDeleteMarkerTTL,
		"has no expiry of messages: it needs nats-server 2.11 or later, version %s is connected",
		e.conn.ConnectedServerVersion())
	check(got.MaxMsgsPerSubject == want.MaxMsgsPerSubject || want.MaxMsgsPerSubject == 0 && got.MaxMsgsPerSubject < 1,
		"keeps %d messages of a subject: it was not made by indus", got.MaxMsgsPerSubject)
	check(got.MaxAge == 0, "forgets messages after %v: remove its age limit", got.MaxAge)
	check(!got.AllowDirect, "allows direct reads, which may be old: disable allow_direct")
	if e.opts.Replicas == 0 && got.Replicas == 1 && want.Replicas > 1 {
		e.warnings = append(e.warnings, "the stream "+want.Name+" has one replica in a cluster of servers: "+
			"it is gone while that server is")
	}
	return s, errors.Join(wrong...)
}

// checkSync warns if the servers may lose what they confirmed when all of them lose power.
func (e *Engine) checkSync(ctx context.Context) {
	if e.opts.Monitor == "" {
		e.warnings = append(e.warnings, `it is not known whether NATS writes to the disk before it confirms a change: `+
			`name its "monitor", and set sync_interval: always`)
		return
	}
	for _, monitor := range strings.Split(e.opts.Monitor, ",") {
		always, err := syncsAlways(ctx, strings.TrimSpace(monitor))
		switch {
		case err != nil:
			e.warnings = append(e.warnings, fmt.Sprintf("the monitor %s: %v", Redacted(monitor), err))
		case !always:
			e.warnings = append(e.warnings, Redacted(monitor)+": NATS confirms changes before it writes them to the disk, "+
				"and a power failure loses the last ones: set sync_interval: always")
		}
	}
}

// syncsAlways returns the setting sync_interval: always of a server.
func syncsAlways(ctx context.Context, monitor string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, stepWait)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(monitor, "/")+"/varz", nil)
	if err != nil {
		return false, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return false, err
	}
	defer answer.Body.Close()
	var status struct {
		JetStream struct {
			Config struct {
				SyncAlways bool `json:"sync_always"`
			} `json:"config"`
		} `json:"jetstream"`
	}
	err = json.NewDecoder(io.LimitReader(answer.Body, 1<<20)).Decode(&status)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("it answers %d", answer.StatusCode)
	}
	return status.JetStream.Config.SyncAlways, err
}
